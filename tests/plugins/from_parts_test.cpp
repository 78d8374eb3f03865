/// examples/from-parts, whose heads of attention are parts, against the built-in Transformer, which has all heads of a
/// layer in one matrix: with the same weights they are one function.

#include "error_message.h"
#include "test_data.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/random.h>
#include <dragoman/engine/translation_engine.h>
#include <dragoman/plugins/conformance.h>
#include <dragoman/plugins/host.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/training/loss.h>

namespace dragoman::from_parts {
namespace {

using core::Json;
using nn::Parameter;
using nn::Seq2SeqModel;

plugins::Host& host_with_plugin() {
  static plugins::Host host({.plugins = {testing::built("from_parts_plugin")}});
  return host;
}

std::unique_ptr<Seq2SeqModel> make(const std::string& type, const nn::SequenceSpec& spec, const Json& config) {
  auto model = host_with_plugin().registry().models().get(type).make(spec, config);
  model->parameters().allocate(tensor::host_memory(), tensor::DType::kF64, tensor::Device::kReference);
  return model;
}

/// Where a part's output begins among those of a layer of the Transformer.
struct Place {
  std::string layer;
  std::int64_t output = 0;
};

/// Of every layer that the Transformer has under another name, by its name here.
class Places {
 public:
  explicit Places(const Json& config)
      : d_model_(config.at("d_model").get<std::int64_t>()), heads_(config.at("heads").get<std::int64_t>()) {
    for (int i = 0; i < config.at("encoder_layers").get<int>(); ++i)
      add_layer(fmt::format("encoder.layers.{}.", i), {"self_attention_norm", "feed_forward_norm"});
    for (int i = 0; i < config.at("decoder_layers").get<int>(); ++i) {
      const std::string layer = fmt::format("decoder.layers.{}.", i);
      add_layer(layer, {"self_attention_norm", "cross_attention_norm", "feed_forward_norm"});
      add_attention(layer + "cross_attention.", {{"query", {"q", 0}}, {"key", {"kv", 0}}, {"value", {"kv", d_model_}}});
    }
  }

  Place of(const std::string& layer) const {
    const auto found = places_.find(layer);
    return found == places_.end() ? Place{layer} : found->second;
  }

 private:
  void add_layer(const std::string& layer, const std::vector<std::string>& norms) {
    for (std::size_t i = 0; i < norms.size(); ++i)
      places_[fmt::format("{}residuals.{}.norm", layer, i)] = {layer + norms[i]};
    add_attention(layer + "self_attention.",
                  {{"query", {"qkv", 0}}, {"key", {"qkv", d_model_}}, {"value", {"qkv", 2 * d_model_}}});
  }

  void add_attention(const std::string& attention, const std::map<std::string, Place>& projections) {
    const std::int64_t width = d_model_ / heads_;
    for (std::int64_t head = 0; head < heads_; ++head)
      for (const auto& [name, fused] : projections)
        places_[fmt::format("{}heads.{}.{}", attention, head, name)] = {attention + fused.layer,
                                                                        fused.output + head * width};
    places_[attention + "output"] = {attention + "out"};
  }

  std::int64_t d_model_;
  std::int64_t heads_;
  std::map<std::string, Place> places_;
};

/// Calls visit(here, row, col, there, row, col) for every trained number of both models: as many as there are, and none
/// of the Transformer's for two parameters.
template <class Visit>
void for_each_pair_of_values(const Seq2SeqModel& here, const Seq2SeqModel& there, const Visit& visit) {
  const Places places(here.config());
  ASSERT_EQ(here.parameters().count(), there.parameters().count());
  std::set<std::pair<std::string, std::int64_t>> taken;
  for (const Parameter& parameter : here.parameters().all()) {
    const std::size_t dot = parameter.name.rfind('.');
    const Place place = places.of(parameter.name.substr(0, dot));
    const std::string name = place.layer + parameter.name.substr(dot);
    const Parameter* counterpart = there.parameters().find(name);
    ASSERT_NE(counterpart, nullptr) << parameter.name << " should be " << name;
    ASSERT_TRUE(taken.emplace(name, place.output).second) << parameter.name;
    // A weight has a row for each output, a vector a column.
    const std::int64_t first_row = parameter.rank == 1 ? 0 : place.output;
    const std::int64_t first_col = parameter.rank == 1 ? place.output : 0;
    ASSERT_LE(first_row + parameter.rows, counterpart->rows) << parameter.name;
    ASSERT_LE(first_col + parameter.cols, counterpart->cols) << parameter.name;
    for (std::int64_t row = 0; row < parameter.rows; ++row)
      for (std::int64_t col = 0; col < parameter.cols; ++col)
        visit(parameter, row, col, *counterpart, first_row + row, first_col + col);
  }
}

void copy_weights(Seq2SeqModel& here, const Seq2SeqModel& there) {
  for_each_pair_of_values(
      here, there,
      [](const Parameter& to, std::int64_t to_row, std::int64_t to_col, const Parameter& from, std::int64_t row,
         std::int64_t col) { tensor::set_element(to.value, to_row, to_col, tensor::element(from.value, row, col)); });
}

/// Biases and gains, too: zeros and ones would hide what is mixed up.
void draw_weights(Seq2SeqModel& model) {
  std::uint64_t stream = 0;
  for (const Parameter& parameter : model.parameters().all()) {
    ++stream;
    for (std::int64_t row = 0; row < parameter.rows; ++row)
      for (std::int64_t col = 0; col < parameter.cols; ++col)
        tensor::set_element(
            parameter.value, row, col,
            0.4 * core::random_normal(3, stream, static_cast<std::uint64_t>(row * parameter.cols + col)));
  }
}

training::Batch example_batch() {
  training::EncodedPairs pairs;
  const std::vector<std::vector<std::int32_t>> sources = {{3, 4, 5, 6, 7, 2}, {8, 2}, {9, 10, 9, 2}};
  const std::vector<std::vector<std::int32_t>> targets = {{5, 3, 2}, {11, 4, 4, 6, 10, 2}, {7, 8, 3, 2}};
  for (const auto& source : sources) pairs.source.append(source);
  for (const auto& target : targets) pairs.target.append(target);
  training::Batch batch;
  const std::vector<std::uint32_t> all = {0, 1, 2};
  batch.assign(pairs, all, 1);
  return batch;
}

double loss_with_gradients(Seq2SeqModel& model) {
  core::SequentialExecutor executor;
  const auto context = host_with_plugin().runtime().make_context(tensor::Device::kReference, executor);
  model.parameters().attach_gradients(context->memory());
  model.parameters().begin_gradients();
  const double loss = training::accumulate_gradients(*context, model, example_batch(), 0.1, 1, {}).loss;
  model.parameters().finish_gradients();
  return loss;
}

std::vector<decoding::Hypothesis> translate(const Seq2SeqModel& model, const tensor::Device& device,
                                            const std::vector<std::vector<std::int32_t>>& sources,
                                            const decoding::DecodingOptions& options) {
  engine::TranslationEngine engine(host_with_plugin().runtime(), model, {.threads = 1, .device = device});
  engine::Client client(engine);
  const auto search = std::make_shared<const decoding::SearchPlan>(options);
  std::vector<decoding::Hypothesis> best(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i)
    client.submit({.source = sources[i], .search = search}, [&best, i](engine::TranslationResult result) {
      if (result.error) std::rethrow_exception(result.error);
      best[i] = std::move(result.hypotheses.front());
    });
  client.wait();
  return best;
}

struct Variant {
  const char* name;
  const char* options;
};

class FromParts : public ::testing::TestWithParam<Variant> {
 protected:
  FromParts() {
    config_ = {{"d_model", 12},       {"heads", 3},          {"feed_forward", 10}, {"encoder_layers", 2},
               {"decoder_layers", 3}, {"output_bias", true}, {"dropout", 0}};
    config_.update(Json::parse(GetParam().options));
    nn::SequenceSpec spec;
    spec.source_vocabulary = spec.target_vocabulary = 12;
    here_ = make("encoder-decoder", spec, config_);
    there_ = make("transformer", spec, config_);
    draw_weights(*there_);
    copy_weights(*here_, *there_);
  }

  Json config_;
  std::unique_ptr<Seq2SeqModel> here_;
  std::unique_ptr<Seq2SeqModel> there_;
};

TEST_P(FromParts, LossAndGradientsAreThoseOfTheTransformer) {
  const double loss = loss_with_gradients(*there_);
  EXPECT_NEAR(loss_with_gradients(*here_), loss, 1e-12 * loss);
  for_each_pair_of_values(*here_, *there_,
                          [](const Parameter& here, std::int64_t here_row, std::int64_t here_col,
                             const Parameter& there, std::int64_t row, std::int64_t col) {
                            const double expected = tensor::element(there.gradient->value, row, col);
                            ASSERT_NEAR(tensor::element(here.gradient->value, here_row, here_col), expected,
                                        1e-10 * (1 + std::abs(expected)))
                                << here.name << "[" << here_row << ", " << here_col << "]";
                          });
}

TEST_P(FromParts, ABeamFindsWhatItFindsWithTheTransformer) {
  const std::vector<std::vector<std::int32_t>> sources = {{3, 4, 5, 6, 7, 2}, {8, 2}, {9, 10, 9, 2}};
  const decoding::DecodingOptions options{.beam_size = 3, .minimum_length = 4, .maximum_length = 8};
  const auto actual = translate(*here_, tensor::Device::kReference, sources, options);
  const auto expected = translate(*there_, tensor::Device::kReference, sources, options);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(actual[i].tokens, expected[i].tokens);
    EXPECT_NEAR(actual[i].score, expected[i].score, 1e-9);
  }
}

TEST_P(FromParts, PassesTheConformanceKit) {
  plugins::ModelEntry entry = host_with_plugin().registry().models().get("encoder-decoder");
  entry.example.update(Json::parse(GetParam().options));
  const testing::TemporaryFolder scratch;
  for (const plugins::Verdict& verdict :
       plugins::check_model(host_with_plugin(), entry, {.scratch_folder = scratch.path()}))
    EXPECT_TRUE(verdict.passed) << verdict.device << " " << verdict.check << ": " << verdict.detail;
}

INSTANTIATE_TEST_SUITE_P(
    Variants, FromParts,
    ::testing::Values(Variant{"NormFirst", R"({"norm": "pre"})"}, Variant{"NormLast", R"({"norm": "post"})"},
                      Variant{"Untied", R"({"tying": "none", "activation": "swiglu", "positions": "learned"})"},
                      Variant{"OutputWidth", R"({"tying": "source-target", "output_width": 6})"}),
    [](const auto& test) { return std::string(test.param.name); });

/// Trained weights, in the number type in which one translates.
TEST(FromPartsTrained, TranslatesAsTheBundledModel) {
  const auto loaded = plugins::load_model(testing::source_folder() / "examples/multi30k/model", host_with_plugin(),
                                          {.trainable = true});
  const auto here =
      host_with_plugin().registry().models().get("encoder-decoder").make(loaded.model->spec(), loaded.model->config());
  here->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  copy_weights(*here, *loaded.model);

  std::vector<std::vector<std::int32_t>> sources;
  for (const char* line : {"Ein Hund läuft am Strand.", "Zwei Frauen sitzen vor einem Café und trinken Kaffee."}) {
    sources.push_back(loaded.source_tokenizer->encode(line));
    sources.back().push_back(loaded.model->spec().end);
  }
  const auto actual = translate(*here, tensor::Device::kCpu, sources, {});
  const auto expected = translate(*loaded.model, tensor::Device::kCpu, sources, {});
  for (std::size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(loaded.target_tokenizer->decode(actual[i].tokens), loaded.target_tokenizer->decode(expected[i].tokens));
    EXPECT_NEAR(actual[i].score, expected[i].score, 1e-4);
  }
}

TEST(FromPartsConfig, WhatWouldDoNothingIsRefused) {
  const auto& entry = host_with_plugin().registry().models().get("encoder-decoder");
  const auto message = [&](const Json& changes) {
    nn::SequenceSpec spec;
    spec.source_vocabulary = spec.target_vocabulary = 12;
    Json config = {{"d_model", 8}, {"heads", 2}, {"encoder_layers", 2}, {"decoder_layers", 2}};
    config.update(changes);
    return testing::message_of([&] { entry.make(spec, config); });
  };
  EXPECT_THAT(message({{"alignment_heads", 2}}), ::testing::HasSubstr("alignment_heads must be 1 but is 2"));
  for (const Json& changes : {Json{{"encoder_tied_layers", {0, 0}}}, Json{{"decoder_tied_layers", {0, 0}}},
                              Json{{"query_scaling", "early"}}, Json{{"dropout", {{"layer", 0.1}}}}})
    EXPECT_THAT(message(changes), ::testing::HasSubstr("leave them out")) << changes;
}

}  // namespace
}  // namespace dragoman::from_parts
