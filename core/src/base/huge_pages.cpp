#include "dragoman/core/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#include <unistd.h>

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

void prefer_huge_pages(void* data, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t last = (begin + bytes) / kHugePage * kHugePage;
  if (first < last) ::madvise(static_cast<char*>(data) + (first - begin), last - first, MADV_HUGEPAGE);
}

void* map_pages(std::size_t bytes) {
  const std::size_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* mapped = ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  if (slack == 0) return mapped;
  // Unmap the parts before the first boundary and after the block.
  auto* begin = static_cast<char*>(mapped);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  char* data = begin + before;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole = (bytes + page - 1) / page * page;
  if (before > 0) ::munmap(begin, before);
  if (slack > before + (whole - bytes)) ::munmap(data + whole, bytes + slack - before - whole);
  ::madvise(data, whole, MADV_HUGEPAGE);
  return data;
}

void* remap_pages(void* data, std::size_t bytes, std::size_t larger) {
  void* moved = ::mremap(data, bytes, larger, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) {  // as with a block that was advised in parts: the system moves no parts that differ
    moved = map_pages(larger);
    std::memcpy(moved, data, bytes);
    unmap_pages(data, bytes);
    return moved;
  }
  if (larger >= kHugePage) ::madvise(moved, larger, MADV_HUGEPAGE);
  return moved;
}

void unmap_pages(void* data, std::size_t bytes) noexcept {
  ::munmap(data, bytes);
}

}  // namespace dragoman::core
