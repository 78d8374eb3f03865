#include "model_harness.h"
#include "test_data.h"

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::testing {
namespace {

core::Json golden_config(const core::Json& changes) {
  core::Json config{{"d_model", 8},        {"heads", 2},          {"feed_forward", 16},
                    {"encoder_layers", 2}, {"decoder_layers", 2}, {"dropout", 0.0}};
  config.update(changes);
  return config;
}

/// The shape of golden/make_variants.py.
core::Json small_golden_config(const core::Json& changes) {
  core::Json config =
      golden_config({{"d_model", 6}, {"heads", 3}, {"feed_forward", 10}, {"encoder_layers", 1}, {"decoder_layers", 1}});
  config.update(changes);
  return config;
}

struct GoldenModel {
  const char* name;
  std::string file;
  std::int64_t target_vocabulary;
  core::Json config;
};

const std::vector<GoldenModel> kGoldenModels = {
    {"pre", "transformer_pre", 23, golden_config({{"norm", "pre"}, {"activation", "relu"}})},
    {"post", "transformer_post", 23, golden_config({{"norm", "post"}, {"activation", "gelu"}})},
    // The same numbers, in another order of operations.
    {"pre_early_scaling", "transformer_pre", 23, golden_config({{"norm", "pre"}, {"query_scaling", "early"}})},
    {"post_early_scaling", "transformer_post", 23,
     golden_config({{"norm", "post"}, {"activation", "gelu"}, {"query_scaling", "early"}})},
    // Different vocabularies; everything that can be a parameter of its own is one.
    {"untied", "variant_untied", 29,
     small_golden_config({{"tying", "none"}, {"output_bias", true}, {"positions", "learned"}, {"position_offset", 2}})},
    {"tied_target_output", "variant_target_output", 29,
     small_golden_config({{"tying", "target-output"}, {"output_bias", true}})},
    {"tied_source_target", "variant_source_target", 23, small_golden_config({{"tying", "source-target"}})},
    // Norms of every kind, with an epsilon that shows in all digits.
    {"pre_without_final_norm", "variant_pre_without_final_norm", 23,
     small_golden_config({{"final_norm", false}, {"layer_norm_epsilon", 0.01}, {"embedding_norm", true}})},
    {"post_with_final_norm", "variant_post_with_final_norm", 23,
     small_golden_config(
         {{"norm", "post"}, {"final_norm", true}, {"layer_norm_epsilon", 0.01}, {"embedding_norm", true}})},
};

/// What PyTorch computes (golden/make_golden.py), and for the variants that torch.nn.Transformer does not have, NumPy
/// (golden/make_variants.py).
class GoldenTest : public ::testing::TestWithParam<std::tuple<GoldenModel, tensor::Device>> {
 protected:
  GoldenTest()
      : file_(formats::SafetensorsFile::open(golden_file(std::get<0>(GetParam()).file + ".safetensors"))),
        bench_(std::get<1>(GetParam()),
               {.source_vocabulary = 23,
                .target_vocabulary = std::get<0>(GetParam()).target_vocabulary,
                .maximum_source_length = 8,
                .maximum_target_length = 8},
               std::get<0>(GetParam()).config),
        tolerance_(std::get<1>(GetParam()) == tensor::Device::kReference ? 1e-10 : 3e-5) {
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
                         ::testing::Combine(::testing::ValuesIn(kGoldenModels),
                                            ::testing::Values(tensor::Device::kReference, tensor::Device::kCpu)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::string(tensor::name_of(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace dragoman::testing
