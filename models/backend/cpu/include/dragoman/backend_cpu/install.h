#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/tensor/backend.h>
#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/kernel_table.h>

namespace dragoman::backend::cpu {

/// Registers the CPU kernel of every op in models/ops. The kernels take F32 tensors in host memory, and weights in any
/// compute type. They split their work over context.executor() into blocks that depend on the shapes alone. They take
/// scratch memory from context.arena(). They may run in any number of contexts concurrently.
void install_kernels(tensor::KernelTable& table);

/// Replaces these kernels by ones that measure the time and the work of each call.
void install_timed_kernels(tensor::KernelTable& table);
/// Returns the sums over all calls of timed kernels in this process, by descending time. The time is that of the
/// calling thread; with an executor of several threads, others compute meanwhile. Thread-safe.
std::vector<tensor::KernelTime> kernel_times();

/// Returns the type for inference. kI8 selects int8 with narrow activations (kI8Narrow) unless oneDNN adds byte
/// products in 32 bits (VNNI, AMX). `auto` is int8 with VNNI or AMX, and with AVX2 without AVX-512. Otherwise it is
/// fp32.
tensor::ComputeType inference_type(tensor::ComputeChoice choice);
/// Returns the type for training: fp32 or bf16. `auto` is bf16 where its products are faster: with AMX, and with
/// AVX512_BF16 on AMD processors. Error{kUnsupported} for int8.
tensor::ComputeType training_type(tensor::ComputeChoice choice);

/// Returns the load that suits this processor: fewer hypotheses in flight for int8 with AMX, where weights cost little,
/// and the rows of a step should stay in the caches.
tensor::PreferredLoad preferred_load(tensor::ComputeType type);

/// The instructions that kernels may use. At one level, results have the same bits on every run and for any thread
/// count. Results of different levels differ by rounding.
enum class SimdLevel : std::uint8_t {
  kBest,      ///< the best level that the CPU supports; the default
  kAvx2,      ///< at most AVX2 and FMA
  kBaseline,  ///< the instructions that the library was compiled for: x86-64-v2
};

/// Limits the kernels of the whole process to `level`. Call it before the first kernel runs, and never while one runs.
/// oneDNN chooses its kernels once per process. If it has already chosen better ones, returns false, and the limit
/// applies to Dragoman's own kernels only.
bool limit_simd(SimdLevel level);

/// Returns the level in use, to be recorded with results: "avx512", "avx2" or "x86-64-v2". If oneDNN uses another
/// level, its name follows after a comma: "avx2, oneDNN avx512_core".
std::string simd_level();

/// Further lines for bug reports: the instructions for low-precision products that the processor has, used or not
/// ("AVX-512 VNNI yes, AVX-512 bf16 no, AMX int8 no, AMX bf16 no"), and "oneDNN 2.6.3, which uses avx512_core_vnni".
std::vector<std::string> details();

}  // namespace dragoman::backend::cpu
