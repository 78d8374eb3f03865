#include "dragoman/backend_cpu/install.h"
#include "products/gemm.h"

#include <fmt/format.h>
#include <hwy/targets.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

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

/// Dragoman's name for the best of `targets`, and the prefix of oneDNN's name for the same level.
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

#if HWY_ARCH_X86
/// The bits of CPUID leaf 7 (Intel's manual, volume 2A).
struct StructuredFeatures {
  unsigned ecx = 0;
  unsigned edx = 0;
  unsigned eax1 = 0;  ///< of its second part
  bool avx512_bf16() const { return (eax1 >> 5 & 1) != 0; }
  bool avx512_vnni() const { return (ecx >> 11 & 1) != 0; }
  bool amx_bf16() const { return (edx >> 22 & 1) != 0; }
  bool amx_int8() const { return (edx >> 25 & 1) != 0; }
};

StructuredFeatures structured_features() {
  StructuredFeatures features;
  unsigned eax = 0;
  unsigned ebx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &features.ecx, &features.edx) == 0) return {};
  unsigned ecx1 = 0;
  unsigned edx1 = 0;
  if (eax > 0) __get_cpuid_count(7, 1, &features.eax1, &ebx, &ecx1, &edx1);
  return features;
}
#endif

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

std::vector<std::string> details() {
  std::vector<std::string> lines;
#if HWY_ARCH_X86
  const StructuredFeatures features = structured_features();
  const auto word = [](bool has) { return has ? "yes" : "no"; };
  lines.push_back(fmt::format("AVX-512 VNNI {}, AVX-512 bf16 {}, AMX int8 {}, AMX bf16 {}",
                              word(features.avx512_vnni()), word(features.avx512_bf16()), word(features.amx_int8()),
                              word(features.amx_bf16())));
#endif
  lines.push_back(fmt::format("oneDNN {}, which uses {}", gemm_version(), gemm_level()));
  return lines;
}

}  // namespace dragoman::backend::cpu
