#include "op_harness.h"

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

/// Products go through a device's library from its first context on, which the tests, who make contexts of their own,
/// do not ask for.
void open_libraries() {
  const auto executor = dragoman::core::make_executor(1);
  for (const dragoman::tensor::Device device : dragoman::testing::all_devices())
    static_cast<void>(dragoman::testing::test_runtime().make_context(device, *executor));
}

}  // namespace

/// models_ops_tests [--simd avx2|baseline | --with-library]: the tests with the CPU backend held down to a SIMD level,
/// or with the library of a GPU, if it is here, in place of the backend's own products.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc == 2 && std::string_view(argv[1]) == "--with-library") open_libraries();
  // The devices are known by now, but no kernel has run.
  if (argc == 3 && std::string_view(argv[1]) == "--simd" && !hold_down_simd(argv[2])) {
    std::fprintf(stderr, "cannot hold the CPU backend down to %s\n", argv[2]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
