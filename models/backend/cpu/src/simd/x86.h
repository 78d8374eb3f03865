#pragma once

/// For the few kernels that are written for one instruction set, since what they do has no name in Highway.
#ifdef __x86_64__
#include <immintrin.h>

#define DRAGOMAN_AVX2 [[gnu::target("avx2")]]
#define DRAGOMAN_VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]
#define DRAGOMAN_BF16 [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]]
#define DRAGOMAN_INLINE [[gnu::always_inline]] inline
#endif

/// The next loop, whose length is known, without a loop: what is summed in an array is then kept in registers.
#ifdef __clang__
#define DRAGOMAN_UNROLL _Pragma("unroll")
#else
#define DRAGOMAN_UNROLL _Pragma("GCC unroll 16")
#endif
