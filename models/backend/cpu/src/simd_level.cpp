#include "dragoman/backend_cpu/install.h"
#include "gemm.h"

#include <hwy/targets.h>

namespace dragoman::backend::cpu {
namespace {

// Highway numbers its targets so that better ones have lower bits.
constexpr std::int64_t better_than(std::int64_t target) {
  return target - 1;
}

std::int64_t disabled_targets(SimdLevel level) {
#if HWY_ARCH_X86
  if (level == SimdLevel::kAvx2) return better_than(HWY_AVX2);
#endif
  return level == SimdLevel::kBest ? 0 : better_than(HWY_STATIC_TARGET);
}

/// Our name for the best of `targets`, and how oneDNN's name for the same begins.
struct LevelName {
  std::string ours;
  std::string gemm_prefix;
};

LevelName name_of(std::int64_t targets) {
#if HWY_ARCH_X86
  if ((targets & HWY_AVX3) != 0) return {"avx512", "avx512"};
  if ((targets & HWY_AVX2) != 0) return {"avx2", "avx2"};
  return {"x86-64-v2", "sse41"};
#else
  return {hwy::TargetName(targets & -targets), ""};
#endif
}

}  // namespace

bool limit_simd(SimdLevel level) {
  hwy::DisableTargets(disabled_targets(level));
  return limit_gemm(level);
}

std::string simd_level() {
  const LevelName name = name_of(hwy::SupportedTargets() & HWY_TARGETS);
  const std::string gemm = gemm_level();
  return gemm.starts_with(name.gemm_prefix) ? name.ours : name.ours + ", oneDNN " + gemm;
}

}  // namespace dragoman::backend::cpu
