// This program's operator new, which can be made to fail.
#include "failing_allocation.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include <dlfcn.h>

namespace dragoman::testing {
namespace {

std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> first_failing{std::numeric_limits<std::int64_t>::max()};
std::atomic<std::int64_t> last_failing{0};
std::atomic<bool> armed{false};
thread_local bool spared = false;

bool is_onednn(const void* caller) noexcept {
  Dl_info library{};
  return dladdr(caller, &library) != 0 && std::strstr(library.dli_fname, "libdnnl") != nullptr;
}

bool must_fail(const void* caller) noexcept {
  if (!armed.load(std::memory_order_relaxed) || spared || is_onednn(caller)) return false;
  const std::int64_t number = ++allocations;
  return number >= first_failing && number <= last_failing;
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) noexcept {
  if (must_fail(caller)) return nullptr;
  const std::size_t rounded = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment, const void* caller) {
  void* memory = allocate(size, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

FailingAllocations::FailingAllocations(std::int64_t first, std::int64_t last) noexcept {
  spared = true;
  allocations = 0;
  first_failing = first;
  last_failing = last;
  armed = true;
}
FailingAllocations::~FailingAllocations() {
  armed = false;
  spared = false;
}
std::int64_t FailingAllocations::count() const noexcept {
  return allocations;
}

}  // namespace dragoman::testing

using dragoman::testing::allocate;
using dragoman::testing::allocate_or_throw;

// The array forms call these. https://en.cppreference.com/w/cpp/memory/new/operator_new
void* operator new(std::size_t size) {
  return allocate_or_throw(size, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
