#include "model_harness.h"
#include "test_data.h"

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::testing {
namespace {

class GoldenTest : public ::testing::TestWithParam<std::tuple<const char*, const char*, tensor::Device>> {
 protected:
  static core::Json config(const std::string& norm, const char* query_scaling) {
    return {{"d_model", 8},
            {"heads", 2},
            {"feed_forward", 16},
            {"encoder_layers", 2},
            {"decoder_layers", 2},
            {"norm", norm},
            {"query_scaling", query_scaling},
            {"activation", norm == "pre" ? "relu" : "gelu"},
            {"layer_norm_epsilon", 1e-5},
            {"tying", "all"},
            {"dropout", 0.0}};
  }
  GoldenTest()
      : norm_(std::get<0>(GetParam())),
        file_(formats::SafetensorsFile::open(golden_file("transformer_" + norm_ + ".safetensors"))),
        bench_(std::get<2>(GetParam()),
               {.source_vocabulary = 23,
                .target_vocabulary = 23,
                .maximum_source_length = 64,
                .maximum_target_length = 64},
               config(norm_, std::get<1>(GetParam()))),
        tolerance_(std::get<2>(GetParam()) == tensor::Device::kReference ? 1e-10 : 3e-5) {
    for (const nn::Parameter& parameter : bench_.model->parameters().all()) load(parameter);
  }

  void load(const nn::Parameter& parameter) {
    const formats::StoredTensor* stored = file_.find(parameter.name);
    ASSERT_NE(stored, nullptr) << parameter.name << " is not in the golden file";
    ASSERT_EQ(stored->size, parameter.rows * parameter.cols) << parameter.name;
    file_.read(*stored, parameter.value);
  }

  std::vector<double> golden(const std::string& name) const {
    const auto bytes = file_.read(name);
    std::vector<double> values(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  void expect_equal(const tensor::Tensor& actual, const std::string& name) const {
    const std::vector<double> expected = golden(name);
    const std::vector<double> values = values_of(actual);
    ASSERT_EQ(values.size(), expected.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], expected[i], tolerance_ * (1 + std::fabs(expected[i]))) << name << " element " << i;
  }

  const Batch source_{{{5, 9, 4, 22, 2}, {7, 2}, {3, 3, 11, 2}}};
  const Batch inputs_{{{1, 6, 8}, {1, 12, 13, 14, 15}, {1, 20}}};
  const Batch targets_{{{6, 8, 2}, {12, 13, 14, 15, 2}, {20, 2}}};
  std::string norm_;
  formats::SafetensorsFile file_;
  Bench bench_;
  double tolerance_;
};

TEST_P(GoldenTest, LogitsEqualPyTorch) {
  bench_.context->step([&] {
    const nn::Variable states = bench_.whole_states(source_, inputs_);
    const ops::Projection output = bench_.model->output();
    const nn::Variable logits = ops::linear(*bench_.context, states, output.weight, output.bias);
    expect_equal(logits.value, "batch.logits");
  });
}

TEST_P(GoldenTest, LossAndGradientsEqualPyTorch) {
  const double loss = bench_.loss(source_, inputs_, targets_, 0.1, true);
  const double expected = golden("batch.loss")[0];
  EXPECT_NEAR(loss, expected, tolerance_ * expected);
  for (const nn::Parameter& parameter : bench_.model->parameters().all())
    expect_equal(parameter.gradient->value, "gradient." + parameter.name);
}

INSTANTIATE_TEST_SUITE_P(Variants, GoldenTest,
                         ::testing::Combine(::testing::Values("pre", "post"), ::testing::Values("late", "early"),
                                            ::testing::Values(tensor::Device::kReference, tensor::Device::kCpu)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param) + "_" +
                                  std::string(tensor::name_of(std::get<2>(test.param)));
                         });

}  // namespace
}  // namespace dragoman::testing
