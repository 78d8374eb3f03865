#include "dragoman/core/huge_pages.h"

#include <sys/mman.h>

#include <new>

namespace dragoman::core {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t(bytes >= kHugePage ? kHugePage : kCacheLine);
}

}  // namespace

void* allocate_pages(std::size_t bytes) {
  void* data = ::operator new(bytes, alignment_of(bytes));
  if (bytes >= kHugePage) ::madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return data;
}

void free_pages(void* data, std::size_t bytes) noexcept {
  ::operator delete(data, alignment_of(bytes));
}

}  // namespace dragoman::core
