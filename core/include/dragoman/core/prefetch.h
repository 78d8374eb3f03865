#pragma once

namespace dragoman::core {

/// Begins to load the cache line of an address, which need not be valid. Has no other effect.
inline void prefetch(const void* address) noexcept {
  __builtin_prefetch(address);
  // Without this, GCC 12 takes a function that only prefetches for one without effects, and removes its calls.
  asm volatile("");
}

}  // namespace dragoman::core
