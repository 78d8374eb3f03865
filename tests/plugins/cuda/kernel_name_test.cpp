#include "steps/kernel_name.h"

#include <gtest/gtest.h>

namespace dragoman::backend::cuda {
namespace {

/// As GCC, clang and NVIDIA's front end spell a function of a template.
TEST(KernelName, IsThatOfTheTypeWithoutItsPlaces) {
  EXPECT_EQ(
      kernel_name("void dragoman::backend::cuda::simt::launch(Grid, int, std::size_t, const Kernel&) [with Kernel "
                  "= dragoman::backend::cuda::device::{anonymous}::Multiply; std::size_t = long unsigned int]"),
      "Multiply");
  EXPECT_EQ(kernel_name("void a::launch(a::Grid, int, size_t, const Kernel &) [Kernel = a::(anonymous "
                        "namespace)::MultiplyTiles<a::(anonymous namespace)::Tile<2, 64, 32>, float, a::NoScales>]"),
            "MultiplyTiles<Tile<2, 64, 32>, float, NoScales>");
  EXPECT_EQ(kernel_name("void launch(const Kernel&) [with Kernel = _GLOBAL__N__3d4bbd35_8_x_cu_42b12118::Pair<int, "
                        "_GLOBAL__N__3d4bbd35_8_x_cu_42b12118::Sum>]"),
            "Pair<int, Sum>");
  EXPECT_EQ(kernel_name("void launch(const Kernel&) [with Kernel=Adam]"),
            "void launch(const Kernel&) [with Kernel=Adam]");
  EXPECT_EQ(kernel_name("cuBLASLt, bf16"), "cuBLASLt, bf16");
  EXPECT_EQ(kernel_name(""), "");
}

}  // namespace
}  // namespace dragoman::backend::cuda
