#include "listed_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Which parts of an op's epilogue are left to the library, and which a kernel computes after the product.
namespace dragoman::backend::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Which of the epilogues are the library's.
class Epilogues : public ::testing::TestWithParam<RowBits> {
 protected:
  /// Returns the activation functions of the library's runs in two products, after those that verify them.
  std::vector<GemmActivation> activations_in(const Task& task) {
    LibraryGemm gemm(std::make_unique<ListedLibrary>(listed_), tensor::host_memory(), {});
    computed(gemm, task, GetParam());
    listed_.activations.clear();
    const Outcome actual = computed(gemm, task, GetParam()), wanted = expected(task);
    EXPECT_THAT(actual.c, ::testing::Pointwise(::testing::FloatNear(1e-5F), wanted.c));
    EXPECT_THAT(actual.before_activation, ::testing::Pointwise(::testing::FloatNear(1e-5F), wanted.before_activation));
    return listed_.activations;
  }
  static Task task(ops::Activation activation) {
    return {.rows = 20, .cols = 8, .inner = 32, .transpose_b = true, .bias = true, .activation = activation};
  }

  Listed listed_{.candidates = {kForwards}, .seconds = {{kForwards, 1}}};
};
INSTANTIATE_TEST_SUITE_P(Bits, Epilogues, ::testing::Values(RowBits::kStable, RowBits::kOfShape), [](const auto& bits) {
  return std::string(bits.param == RowBits::kStable ? "stable" : "of_shape");
});

TEST_P(Epilogues, AreTheLibrarysWhereItHasThem) {
  using ops::Activation;
  EXPECT_THAT(activations_in(task(Activation::kRelu)), ElementsAre(GemmActivation::kRelu));
  EXPECT_THAT(activations_in(task(Activation::kGeluTanh)), ElementsAre(GemmActivation::kGeluTanh));
  for (const Activation other : {Activation::kNone, Activation::kGelu})
    EXPECT_THAT(activations_in(task(other)), IsEmpty());
  Task keeping = task(Activation::kGeluTanh);
  keeping.keep_input = true;
  EXPECT_THAT(activations_in(keeping), ElementsAre(GemmActivation::kGeluTanh));
  keeping.cols = 12;
  EXPECT_THAT(activations_in(keeping), IsEmpty()) << "a stride that the library does not take";
  Task adding = task(Activation::kRelu);
  adding.accumulate = true;
  EXPECT_THAT(activations_in(adding), IsEmpty()) << "the library applies the function to the sum";
  Task unaligned = task(Activation::kRelu);
  unaligned.bias_offset = 1;
  EXPECT_THAT(activations_in(unaligned), IsEmpty()) << "a bias that the library reads as vectors";
}

/// A row with a NaN, which the library's ReLU would hide.
TEST_P(Epilogues, AReluThatLosesNanIsNotUsed) {
  listed_.relu_loses_nan = true;
  EXPECT_THAT(activations_in(task(ops::Activation::kRelu)), IsEmpty());
  EXPECT_THAT(activations_in(task(ops::Activation::kGeluTanh)), ElementsAre(GemmActivation::kGeluTanh));
}

TEST_P(Epilogues, AGeluOfAnotherFormulaIsNotUsed) {
  listed_.gelu_by_error_function = true;
  EXPECT_THAT(activations_in(task(ops::Activation::kGeluTanh)), IsEmpty());
  EXPECT_THAT(activations_in(task(ops::Activation::kRelu)), ElementsAre(GemmActivation::kRelu));
}

TEST_P(Epilogues, ALibraryWithoutThemMultiplies) {
  listed_.has_activations = false;
  listed_.runs = 0;
  EXPECT_THAT(activations_in(task(ops::Activation::kRelu)), IsEmpty());
  EXPECT_GE(listed_.runs, 2);
}

/// Whether there is memory for the verification decides about no bits: without it, the product fails, and is verified
/// when there is.
TEST_P(Epilogues, AreVerifiedWhenThereIsMemory) {
  BoundedMemory memory;
  LibraryGemm gemm(std::make_unique<ListedLibrary>(listed_), memory, {});
  const Task with_relu = task(ops::Activation::kRelu);
  EXPECT_THROW(computed(gemm, with_relu, GetParam()), core::Error);
  memory.allow(std::size_t{1} << 30);
  computed(gemm, with_relu, GetParam());
  listed_.activations.clear();
  computed(gemm, with_relu, GetParam());
  EXPECT_THAT(listed_.activations, ElementsAre(GemmActivation::kRelu));
}

/// Each algorithm of a product is verified once.
TEST_P(Epilogues, AreVerifiedOnce) {
  LibraryGemm gemm(std::make_unique<ListedLibrary>(listed_), tensor::host_memory(), {});
  Task other_rows = task(ops::Activation::kRelu);
  computed(gemm, other_rows, GetParam());
  listed_.activations.clear();
  other_rows.rows = 30;
  computed(gemm, other_rows, GetParam());
  EXPECT_THAT(listed_.activations, ElementsAre(GemmActivation::kRelu));
}

}  // namespace
}  // namespace dragoman::backend::cuda
