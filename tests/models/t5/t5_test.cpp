#include "error_message.h"
#include "test_data.h"

#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/ops/linear.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/t5/config.h>
#include <dragoman/t5/relative_bias.h>
#include <dragoman/t5/t5.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::t5 {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

constexpr nn::SequenceSpec kSpec{.source_vocabulary = 300, .target_vocabulary = 300};

TEST(T5, DistancesFallIntoTheBucketsOfTransformers) {
  const core::Json golden = core::load_json(testing::golden_file("buckets.json").string());
  for (const core::Json& setting : golden) {
    const RelativeBuckets buckets{setting["count"], setting["farthest"], setting["bidirectional"]};
    std::int64_t distance = -2 * buckets.farthest;
    for (const core::Json& bucket : setting["buckets"]) {
      ASSERT_EQ(buckets.bucket(distance), bucket.get<std::int64_t>())
          << distance << " of " << buckets.count << ", " << buckets.farthest;
      ++distance;
    }
  }
}

/// The standard deviation of rows [begin, end) of a parameter.
double deviation(const nn::Seq2SeqModel& model, const std::string& name, std::int64_t begin, std::int64_t end) {
  const nn::Parameter* parameter = model.parameters().find(name);
  if (parameter == nullptr) return -1;
  double squares = 0;
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t j = 0; j < parameter->cols; ++j) squares += std::pow(tensor::element(parameter->value, i, j), 2);
  return std::sqrt(squares / static_cast<double>((end - begin) * parameter->cols));
}

TEST(T5, StartsOutAsTransformersDrawsIt) {
  const auto model = make_t5(kSpec, {{"d_model", 64}, {"heads", 4}, {"head_width", 16}, {"feed_forward", 256}});
  model->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  model->parameters().initialise(5);
  const std::string layer = "decoder.layers.3.";
  EXPECT_NEAR(deviation(*model, "embedding.weight", 0, 300), 1, 0.05);
  EXPECT_NEAR(deviation(*model, "output.weight", 0, 300), 1, 0.05);
  EXPECT_NEAR(deviation(*model, layer + "self_attention.qkv.weight", 0, 64), 1 / std::sqrt(64. * 16), 0.002);
  EXPECT_NEAR(deviation(*model, layer + "self_attention.qkv.weight", 64, 128), 1 / 8., 0.01);
  EXPECT_NEAR(deviation(*model, layer + "self_attention.qkv.weight", 128, 192), 1 / 8., 0.01);
  EXPECT_NEAR(deviation(*model, layer + "cross_attention.q.weight", 0, 64), 1 / std::sqrt(64. * 16), 0.002);
  EXPECT_NEAR(deviation(*model, layer + "cross_attention.kv.weight", 0, 128), 1 / 8., 0.01);
  EXPECT_NEAR(deviation(*model, layer + "feed_forward.in.weight", 0, 512), 1 / 8., 0.01);
  EXPECT_NEAR(deviation(*model, layer + "feed_forward.out.weight", 0, 64), 1 / 16., 0.005);
  EXPECT_NEAR(deviation(*model, "encoder.relative_bias.weight", 0, 32), 1 / 8., 0.03);
}

TEST(T5, KeepsItsConfiguration) {
  const core::Json config = {{"d_model", 24},
                             {"heads", 3},
                             {"head_width", 5},
                             {"feed_forward", 7},
                             {"encoder_layers", 1},
                             {"decoder_layers", 2},
                             {"activation", "relu"},
                             {"relative_buckets", 8},
                             {"relative_distance", 9},
                             {"relative_bias_of_each_layer", true},
                             {"layer_norm_epsilon", 1e-5},
                             {"tied_output", true},
                             {"dropout", 0.2},
                             {"alignment_layer", 0},
                             {"alignment_heads", 3}};
  EXPECT_EQ(make_t5(kSpec, config)->config(), config);
}

TEST(T5, SharesTheBiasOfAStackOrGivesEachLayerItsOwn) {
  const auto names = [](bool each) {
    const auto model = make_t5(kSpec, {{"encoder_layers", 2}, {"relative_bias_of_each_layer", each}});
    std::vector<std::string> found;
    for (const nn::Parameter& parameter : model->parameters().all())
      if (parameter.name.starts_with("encoder") && parameter.name.find("bias") != std::string::npos)
        found.push_back(parameter.name);
    return found;
  };
  EXPECT_THAT(names(false), ::testing::ElementsAre("encoder.relative_bias.weight"));
  EXPECT_THAT(names(true), ::testing::ElementsAre("encoder.layers.0.self_attention.relative_bias.weight",
                                                  "encoder.layers.1.self_attention.relative_bias.weight"));
}

TEST(T5, NamesTheKeyThatCannotBe) {
  const auto error = [](const core::Json& config) { return error_of([&] { make_t5(kSpec, config); }); };
  EXPECT_THAT(error({{"relative_buckets", 5}}), HasSubstr("relative_buckets: must be even"));
  EXPECT_THAT(error({{"relative_distance", 16}}), HasSubstr("relative_distance: must be more than half"));
  EXPECT_THAT(error({{"heads", 1024}, {"head_width", 1024}}), HasSubstr("head_width: times heads"));
  EXPECT_THAT(error({{"alignment_layer", 8}}), HasSubstr("alignment_layer"));
  EXPECT_THAT(error({{"tied_outputs", true}}), HasSubstr("tied_output"));
  nn::SequenceSpec separate = kSpec;
  separate.source_vocabulary = 299;
  EXPECT_THAT(error_of([&] { make_t5(separate, core::Json::object()); }), HasSubstr("joint vocabulary"));
}

}  // namespace
}  // namespace dragoman::t5
