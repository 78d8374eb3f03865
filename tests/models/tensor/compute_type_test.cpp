#include <gtest/gtest.h>

#include <dragoman/tensor/compute_type.h>

namespace dragoman::tensor {
namespace {

TEST(ComputeType, ChoicesAreSpelledAsOneTableSays) {
  for (const auto& [name, choice] : kComputeChoices) {
    EXPECT_EQ(name_of(choice), name);
    EXPECT_EQ(find_compute_choice(name), choice);
  }
  EXPECT_EQ(find_compute_choice("int8"), ComputeChoice::kI8);
  for (const std::string_view other :
       {std::string_view(), std::string_view("FP32"), std::string_view("fp8"), kStoredCompute})
    EXPECT_EQ(find_compute_choice(other), std::nullopt) << other;
}

TEST(ComputeType, MessagesListTheChoices) {
  EXPECT_EQ(list_compute_choices(), "fp32, bf16, fp16, int8 or auto");
}

TEST(ComputeType, ATypeHasTheNameOfItsChoice) {
  EXPECT_EQ(name_of(ComputeType::kF32), "fp32");
  EXPECT_EQ(name_of(ComputeType::kBF16), "bf16");
  EXPECT_EQ(name_of(ComputeType::kF16), "fp16");
  EXPECT_EQ(name_of(ComputeType::kI8), "int8");
  EXPECT_EQ(name_of(ComputeType::kI8Narrow), "int8 (7-bit activations)");
}

}  // namespace
}  // namespace dragoman::tensor
