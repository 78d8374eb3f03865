// The meter for builds with AddressSanitizer or ThreadSanitizer, which own malloc() and offer hooks.
#include "meter.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

// GCC installs its runtime without this part of its headers.
extern "C" {
std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT(bugprone-reserved-identifier)
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                  std::size_t),  // NOLINT(bugprone-reserved-identifier)
                                              void (*free_hook)(const volatile void*));
}

namespace dragoman::fuzz {
namespace {

std::atomic<std::size_t> since_last_look{0};
std::atomic<std::size_t> highest{0};

void look() {
  since_last_look = 0;
  const std::size_t now = __sanitizer_get_current_allocated_bytes();
  for (std::size_t before = highest; before < now && !highest.compare_exchange_weak(before, now);) {
  }
}

/// Asking for the total takes a lock and a sum over all threads, so it is not done for every small block.
void on_malloc(const volatile void* /*memory*/, std::size_t size) {
  constexpr std::size_t kStep = std::size_t{256} << 10;
  if ((since_last_look += size) >= kStep) look();
}

void on_free(const volatile void* /*memory*/) {}

}  // namespace

AllocationMeter::AllocationMeter() {
  static const int kInstalled = __sanitizer_install_malloc_and_free_hooks(&on_malloc, &on_free);
  static_cast<void>(kInstalled);
  start_ = __sanitizer_get_current_allocated_bytes();
  since_last_look = 0;
  highest = start_;
}

std::size_t AllocationMeter::peak() const {
  return highest - std::min<std::size_t>(start_, highest);
}

double slowdown() {
  return 10;
}

}  // namespace dragoman::fuzz
