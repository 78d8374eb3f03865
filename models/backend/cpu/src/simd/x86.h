#pragma once

/// For the few kernels that are written for one instruction set, because Highway lacks their operations.
#ifdef __x86_64__
#include <immintrin.h>

// The headers of GCC 12 use registers with undefined contents, and GCC 12 warns about them. Clang has no such warning.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define DRAGOMAN_AVX2 [[gnu::target("avx2")]]
#define DRAGOMAN_VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]
#define DRAGOMAN_BF16 [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]]
#define DRAGOMAN_TILES [[gnu::target("avx512f,avx512bw,avx512vl,amx-tile,amx-int8,amx-bf16")]]
#define DRAGOMAN_INLINE [[gnu::always_inline]] inline
#endif

/// Unrolls the next loop, whose length is a constant, so that sums in an array are kept in registers.
#ifdef __clang__
#define DRAGOMAN_UNROLL _Pragma("unroll")
#else
#define DRAGOMAN_UNROLL _Pragma("GCC unroll 16")
#endif
