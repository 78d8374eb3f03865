// The functions that the compiler's instrumentation of the kernels calls for each load and store, instead of those of
// ThreadSanitizer's runtime. Each program and each module with kernels contains them. In tests with AddressSanitizer,
// they call it, too, because a source cannot have both instrumentations.
#include "watch.h"

using dragoman::testing::emulation::on_load;
using dragoman::testing::emulation::on_store;

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_loadN(void* address, std::size_t bytes);   // NOLINT(bugprone-reserved-identifier)
extern "C" void __asan_storeN(void* address, std::size_t bytes);  // NOLINT(bugprone-reserved-identifier)
#endif

namespace {

inline void load(void* address, std::size_t bytes, const void* code) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_loadN(address, bytes);
#endif
  on_load(address, bytes, code);
}
inline void store(void* address, std::size_t bytes, const void* code) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_storeN(address, bytes);
#endif
  on_store(address, bytes, code);
}

}  // namespace

#define HOOK extern "C" __attribute__((visibility("hidden"))) void
#define HOOKS(N)                                    \
  HOOK __tsan_read##N(void* address) {              \
    load(address, N, __builtin_return_address(0));  \
  }                                                 \
  HOOK __tsan_write##N(void* address) {             \
    store(address, N, __builtin_return_address(0)); \
  }                                                 \
  HOOK __tsan_unaligned_read##N(void* address) {    \
    load(address, N, __builtin_return_address(0));  \
  }                                                 \
  HOOK __tsan_unaligned_write##N(void* address) {   \
    store(address, N, __builtin_return_address(0)); \
  }

// The compiler determines their names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
// clang-format off
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
// clang-format on
HOOK __tsan_read_range(void* address, std::size_t bytes) {
  load(address, bytes, __builtin_return_address(0));
}
HOOK __tsan_write_range(void* address, std::size_t bytes) {
  store(address, bytes, __builtin_return_address(0));
}
HOOK __tsan_vptr_update(void**, void*) {}
HOOK __tsan_vptr_read(void**) {}
HOOK __tsan_func_entry(void*) {}
HOOK __tsan_func_exit() {}
HOOK __tsan_init() {}

// For host code in such a source, for example in tests. Kernels have no atomic operations.
#define ATOMIC_HOOKS(BITS, T)                                                                                    \
  extern "C" __attribute__((visibility("hidden"))) T __tsan_atomic##BITS##_load(const volatile T* a, int) {      \
    return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                                 \
  }                                                                                                              \
  extern "C" __attribute__((visibility("hidden"))) T __tsan_atomic##BITS##_fetch_add(volatile T* a, T by, int) { \
    return __atomic_fetch_add(a, by, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                              \
  extern "C" __attribute__((visibility("hidden"))) T __tsan_atomic##BITS##_fetch_sub(volatile T* a, T by, int) { \
    return __atomic_fetch_sub(a, by, __ATOMIC_SEQ_CST);                                                          \
  }
ATOMIC_HOOKS(8, signed char)
ATOMIC_HOOKS(32, int)
ATOMIC_HOOKS(64, long)
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
