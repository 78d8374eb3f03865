// The meter for builds without a sanitizer: this program's malloc() is glibc's, counted.
#include "meter.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include <malloc.h>

namespace dragoman::fuzz {
namespace {

std::atomic<std::int64_t> allocated{0};
std::atomic<std::int64_t> highest{0};

void* counted(void* memory) noexcept {
  const std::int64_t now = allocated += static_cast<std::int64_t>(malloc_usable_size(memory));
  for (std::int64_t before = highest; before < now && !highest.compare_exchange_weak(before, now);) {
  }
  return memory;
}

void uncount(void* memory) noexcept {
  allocated -= static_cast<std::int64_t>(malloc_usable_size(memory));
}

}  // namespace

AllocationMeter::AllocationMeter() : start_(static_cast<std::size_t>(std::max<std::int64_t>(allocated, 0))) {
  highest = allocated.load();
}

std::size_t AllocationMeter::peak() const {
  return static_cast<std::size_t>(highest) - std::min(start_, static_cast<std::size_t>(highest));
}

double slowdown() {
#ifdef NDEBUG
  return 1;
#else
  return 10;
#endif
}

}  // namespace dragoman::fuzz

// glibc's own entry points: https://www.gnu.org/software/libc/manual/html_node/Replacing-malloc.html
extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT(*-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT(*-reserved-identifier)
void* __libc_realloc(void* memory, std::size_t size);            // NOLINT(*-reserved-identifier)
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT(*-reserved-identifier)
void __libc_free(void* memory);                                  // NOLINT(*-reserved-identifier)

void* malloc(std::size_t size) noexcept {
  return dragoman::fuzz::counted(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return dragoman::fuzz::counted(__libc_calloc(count, size));
}
void* realloc(void* memory, std::size_t size) noexcept {
  dragoman::fuzz::uncount(memory);
  return dragoman::fuzz::counted(__libc_realloc(memory, size));
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return dragoman::fuzz::counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return dragoman::fuzz::counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  void* result = dragoman::fuzz::counted(__libc_memalign(alignment, size));
  if (result == nullptr) return ENOMEM;
  *memory = result;
  return 0;
}
void free(void* memory) noexcept {
  dragoman::fuzz::uncount(memory);
  __libc_free(memory);
}
}
