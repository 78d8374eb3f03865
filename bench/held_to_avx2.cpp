// A program of Dragoman that has this library preloaded uses at most AVX2, in oneDNN's kernels and in its own:
//
//   LD_PRELOAD=build/release/bench/held_to_avx2.so build/release/dragoman doctor
//
// A measuring tool alone wants this, so the program itself has no such option.
#include <dragoman/backend_cpu/install.h>

namespace {

using dragoman::backend::cpu::SimdLevel;

const bool kHeld = dragoman::backend::cpu::limit_simd(SimdLevel::kAvx2);

}  // namespace
