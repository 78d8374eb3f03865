#include <cstdio>
#include <string_view>

#include <gtest/gtest.h>

#include <dragoman/backend_cpu/install.h>

namespace {

/// False if the level is not known or the backend does not obey.
bool hold_down_simd(std::string_view level) {
  using dragoman::backend::cpu::SimdLevel;
  if (level == "avx2") return dragoman::backend::cpu::limit_simd(SimdLevel::kAvx2);
  if (level == "baseline") return dragoman::backend::cpu::limit_simd(SimdLevel::kBaseline);
  return false;
}

}  // namespace

/// models_ops_tests [--simd avx2|baseline]: the tests with the CPU backend held down to a SIMD level.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // The devices are known by now, but no kernel has run.
  if (argc == 3 && std::string_view(argv[1]) == "--simd" && !hold_down_simd(argv[2])) {
    std::fprintf(stderr, "cannot hold the CPU backend down to %s\n", argv[2]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
