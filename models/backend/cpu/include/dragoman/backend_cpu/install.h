#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/tensor/compute_type.h>
#include <dragoman/tensor/kernel_table.h>

namespace dragoman::backend::cpu {

/// Registers the CPU kernel of every op of models/ops. All of them take F32 tensors in host memory, weights in the
/// compute types besides, split their work over context.executor() into blocks that are functions of the shapes alone,
/// and take scratch memory from context.arena(). They may run in any number of contexts at a time.
void install_kernels(tensor::KernelTable& table);

/// Where bytes are multiplied in 32 bits (VNNI, AMX), int8 is the fastest by far; elsewhere int8 has narrow
/// activations, and auto is fp32.
tensor::ComputeType inference_type(tensor::ComputeChoice choice);
/// The same of training, in fp32 or bf16: auto is bf16 where its products are faster: with AMX, and with AVX512_BF16 on
/// AMD's processors. Error{kUnsupported} for int8.
tensor::ComputeType training_type(tensor::ComputeChoice choice);

/// Which instructions the kernels may use. Results have the same bits on every run and for any thread count at one
/// level; between levels they differ by rounding.
enum class SimdLevel : std::uint8_t {
  kBest,      ///< the best that the CPU offers; the default
  kAvx2,      ///< at most AVX2 and FMA
  kBaseline,  ///< what the library was compiled for: x86-64-v2
};

/// Holds the kernels of the whole process down to `level`. To be called before the first kernel runs, and not while one
/// runs: oneDNN chooses its kernels once per process. Returns false if it had chosen better ones already; then only our
/// own kernels obey.
bool limit_simd(SimdLevel level);

/// The level in use, to be recorded with results: "avx512", "avx2", "x86-64-v2"; with oneDNN's own name for its level
/// after a comma, as in "avx2, oneDNN avx512_core".
std::string simd_level();

/// What a bug report needs besides: whether the processor has what multiplies few bits faster, used or not ("AVX-512
/// VNNI yes, AVX-512 bf16 no, AMX int8 no, AMX bf16 no"), and "oneDNN 2.6.3, which uses avx512_core_vnni".
std::vector<std::string> details();

}  // namespace dragoman::backend::cpu
