#include "model_harness.h"

#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/nn/pooled_state.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::testing {
namespace {

const nn::SequenceSpec kSpec{
    .source_vocabulary = 17, .target_vocabulary = 17, .maximum_source_length = 40, .maximum_target_length = 40};

core::Json with(const core::Json& changes) {
  core::Json config{{"d_model", 12},       {"heads", 3},          {"feed_forward", 20},
                    {"encoder_layers", 2}, {"decoder_layers", 2}, {"dropout", 0.0}};
  for (const auto& [key, value] : changes.items()) config[key] = value;
  return config;
}

struct Variant {
  const char* name;
  core::Json changes;
};

/// The variants that published implementations differ in.
const std::vector<Variant> kVariants = {
    {"pre", {}},
    {"post", {{"norm", "post"}}},
    {"pre_without_final_norm", {{"final_norm", false}}},
    {"post_with_final_norm", {{"norm", "post"}, {"final_norm", true}}},
    {"gelu", {{"activation", "gelu"}}},
    {"swish", {{"activation", "swish"}}},
    {"glu", {{"activation", "glu"}}},
    {"geglu", {{"activation", "geglu"}}},
    {"learned_positions", {{"positions", "learned"}, {"position_offset", 2}}},
    {"fairseq_positions", {{"positions", "sinusoidal-tensor2tensor"}, {"position_offset", 2}}},
    {"concatenated_positions_of_base_500", {{"positions", "sinusoidal-concatenated"}, {"position_base", 500}}},
    {"embedding_norm", {{"embedding_norm", true}, {"embedding_scale", false}}},
    {"untied", {{"tying", "none"}, {"output_bias", true}}},
    {"tied_target_output", {{"tying", "target-output"}}},
    {"tied_source_target", {{"tying", "source-target"}}},
    {"narrow_output", {{"tying", "none"}, {"output_width", 6}, {"output_bias", true}}},
    {"tied_projected_output", {{"output_width", 12}}},
    {"early_query_scaling", {{"query_scaling", "early"}}},
    {"tied_layers", {{"encoder_layers", 3}, {"encoder_tied_layers", {0, 1, 0}}, {"decoder_tied_layers", {0, 0}}}},
    {"uneven_depth", {{"encoder_layers", 3}, {"decoder_layers", 1}}},
};

class VariantTest : public ::testing::TestWithParam<Variant> {
 protected:
  const Batch source_{{{5, 9, 4, 16, 2}, {7, 2}, {3, 3, 11, 2}}};
  const Batch inputs_{{{1, 6, 8}, {1, 12, 13, 14, 15}, {1, 10}}};
  const Batch targets_{{{6, 8, 2}, {12, 13, 14, 15, 2}, {10, 2}}};
};

/// Central differences of the loss in double precision, for some elements of every parameter.
TEST_P(VariantTest, GradientsEqualFiniteDifferences) {
  Bench bench(tensor::Device::kReference, kSpec, with(GetParam().changes));
  bench.loss(source_, inputs_, targets_, 0.1, true);
  constexpr double kStep = 1e-5;
  for (const nn::Parameter& parameter : bench.model->parameters().all()) {
    for (std::int64_t probe = 0; probe < 3; ++probe) {
      const std::int64_t row = (probe * 7 + 1) % parameter.rows;
      const std::int64_t col = (probe * 5 + 2) % parameter.cols;
      const double value = tensor::element(parameter.value, row, col);
      const auto loss_at = [&](double moved) {
        tensor::set_element(parameter.value, row, col, moved);
        return bench.loss(source_, inputs_, targets_, 0.1, false);
      };
      const double slope = (loss_at(value + kStep) - loss_at(value - kStep)) / (2 * kStep);
      tensor::set_element(parameter.value, row, col, value);
      const double gradient = tensor::element(parameter.gradient->value, row, col);
      EXPECT_NEAR(gradient, slope, 2e-6 * (1 + std::fabs(slope)))
          << parameter.name << " [" << row << ", " << col << "]";
    }
  }
}

TEST_P(VariantTest, CachedStepsEqualTheFullPass) {
  for (const auto device : {tensor::Device::kReference, tensor::Device::kCpu}) {
    Bench bench(device, kSpec, with(GetParam().changes));
    std::vector<double> whole;
    bench.context->step([&] { whole = values_of(bench.whole_states(source_, inputs_).value); });
    nn::PooledState state(*bench.context, bench.model->state_layout());
    std::vector<std::int32_t> slots(3);
    bench.context->step([&] {
      const nn::Encoding encoding = bench.model->encode(*bench.context, source_.view());
      state.admit(*bench.context, encoding.offsets.host, slots);
      state.store_memories(*bench.context, bench.model->memories(*bench.context, encoding));
    });
    const double tolerance = device == tensor::Device::kReference ? 1e-11 : 2e-5;
    // Sentence 1 is the longest; the others drop out when they end, and come first or last in the batch.
    std::vector<std::int32_t> row_of(3, -1);
    for (std::int32_t t = 0; t < 5; ++t) {
      std::vector<nn::RowRef> rows;
      std::vector<std::vector<std::int32_t>> next;
      std::vector<std::int32_t> sentences;
      for (const std::int32_t b : {2, 0, 1}) {
        if (t >= inputs_.view().length(b)) continue;
        rows.push_back({slots[static_cast<std::size_t>(b)], row_of[static_cast<std::size_t>(b)]});
        next.push_back({inputs_.view().sequence(b)[static_cast<std::size_t>(t)]});
        sentences.push_back(b);
      }
      const Batch step(next);
      state.set_rows(rows);
      bench.context->step([&] {
        const tensor::Tensor states = bench.model->decode(*bench.context, step.view(), state).states.value;
        for (std::size_t r = 0; r < rows.size(); ++r) {
          const std::int64_t token = inputs_.offsets[static_cast<std::size_t>(sentences[r])] + t;
          for (std::int64_t j = 0; j < states.cols; ++j)
            ASSERT_NEAR(tensor::element(states, static_cast<std::int64_t>(r), j),
                        whole[static_cast<std::size_t>(token * states.cols + j)], tolerance)
                << "sentence " << sentences[r] << " step " << t;
        }
      });
      for (std::size_t r = 0; r < rows.size(); ++r)
        row_of[static_cast<std::size_t>(sentences[r])] = static_cast<std::int32_t>(r);
    }
  }
}

/// A later target token must not change an earlier state: the masks of some write-ups are inverted, and they would.
TEST_P(VariantTest, LaterTokensDoNotReachEarlierStates) {
  Bench bench(tensor::Device::kReference, kSpec, with(GetParam().changes));
  const Batch changed({{1, 6, 8}, {1, 12, 13, 14, 3}, {1, 10}});
  std::vector<double> before;
  std::vector<double> after;
  bench.context->step([&] { before = values_of(bench.whole_states(source_, inputs_).value); });
  bench.context->step([&] { after = values_of(bench.whole_states(source_, changed).value); });
  const std::size_t width = before.size() / inputs_.tokens.size();
  const std::size_t changed_row = 7;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i / width == changed_row) continue;
    ASSERT_EQ(before[i], after[i]) << "row " << i / width;
  }
  EXPECT_NE(before[changed_row * width], after[changed_row * width]);
}

TEST_P(VariantTest, ASentenceDoesNotDependOnItsBatch) {
  Bench bench(tensor::Device::kCpu, kSpec, with(GetParam().changes));
  core::SequentialExecutor executor;
  bench.model->parameters().prepare(*bench.context, tensor::ComputeType::kF32);
  std::vector<double> together;
  bench.context->step([&] { together = values_of(bench.whole_states(source_, inputs_).value); });
  std::vector<double> apart;
  for (std::int64_t b = 0; b < 3; ++b) {
    const auto sequence = [&](const Batch& batch) {
      const auto span = batch.view().sequence(b);
      return Batch(std::vector<std::vector<std::int32_t>>{std::vector<std::int32_t>(span.begin(), span.end())});
    };
    const Batch source = sequence(source_);
    const Batch inputs = sequence(inputs_);
    bench.context->step([&] {
      for (const double value : values_of(bench.whole_states(source, inputs).value)) apart.push_back(value);
    });
  }
  EXPECT_EQ(together, apart);  // bit for bit
}

INSTANTIATE_TEST_SUITE_P(Published, VariantTest, ::testing::ValuesIn(kVariants),
                         [](const auto& test) { return test.param.name; });

TEST(Transformer, TyingSharesOneParameter) {
  const auto names = [](const char* tying) {
    const auto model = transformer::make_transformer(kSpec, with({{"tying", tying}}));
    std::string list;
    for (const nn::Parameter& parameter : model->parameters().all())
      if (parameter.rows == kSpec.target_vocabulary) list += parameter.name + " ";
    return list;
  };
  EXPECT_EQ(names("all"), "embedding.weight ");
  EXPECT_EQ(names("source-target"), "embedding.weight output.weight ");
  EXPECT_EQ(names("target-output"), "source_embedding.weight target_embedding.weight ");
  EXPECT_EQ(names("none"), "source_embedding.weight target_embedding.weight output.weight ");
}

/// The matrices that stand side by side in one parameter count as if each stood alone.
std::int64_t rows_of_one_projection(const nn::Parameter& parameter) {
  if (parameter.name.ends_with(".qkv.weight")) return parameter.rows / 3;
  return parameter.name.ends_with(".kv.weight") ? parameter.rows / 2 : parameter.rows;
}

/// Glorot & Bengio 2010, eq. 16: of U(-b, b), b^2 = 6 / (rows + columns), the variance is b^2 / 3.
TEST(Transformer, XavierUniformDrawsEveryMatrix) {
  const core::Json wide{{"d_model", 48},       {"heads", 4},         {"tying", "none"},       {"encoder_layers", 1},
                        {"decoder_layers", 1}, {"feed_forward", 64}, {"positions", "learned"}};
  for (const bool xavier : {false, true}) {
    core::Json config = wide;
    if (xavier) config["init"] = "xavier-uniform";
    const auto model = transformer::make_transformer(kSpec, config);
    model->parameters().allocate(tensor::host_memory(), tensor::DType::kF64, tensor::Device::kReference);
    model->parameters().initialise(5);
    for (const nn::Parameter& parameter : model->parameters().all()) {
      if (parameter.rank != 2) continue;
      const double bound = std::sqrt(6.0 / static_cast<double>(rows_of_one_projection(parameter) + parameter.cols));
      const bool table = parameter.name.find("embedding") != std::string::npos ||
                         parameter.name.find("positions") != std::string::npos || parameter.name == "output.weight";
      double most = 0;
      double squares = 0;
      for (const double value : values_of(parameter.value)) {
        most = std::max(most, std::fabs(value));
        squares += value * value;
      }
      const auto count = static_cast<double>(parameter.rows * parameter.cols);
      const double variance = table && !xavier ? 1.0 / 48 : bound * bound / 3;
      EXPECT_NEAR(squares / count, variance, 0.15 * variance) << parameter.name;
      if (table && !xavier) continue;
      EXPECT_LE(most, bound) << parameter.name;
      EXPECT_GT(most, 0.95 * bound) << parameter.name;
    }
  }
}

/// What fairseq's project_out_dim does: the same logits as those of a plain model whose output matrix is the product of
/// both.
TEST(Transformer, AnOutputWidthIsAFactorOfTheOutputMatrix) {
  const Batch source({{5, 9, 2}});
  const Batch inputs({{1, 6}});
  const auto logits = [&](Bench& bench) {
    std::vector<double> values;
    bench.context->step([&] {
      const nn::Variable states = bench.whole_states(source, inputs);
      const ops::Projection output = bench.model->output();
      values = values_of(ops::linear(*bench.context, states, output.weight, output.bias).value);
    });
    return values;
  };
  Bench narrow(tensor::Device::kReference, kSpec, with({{"tying", "none"}, {"output_width", 5}}));
  Bench plain(tensor::Device::kReference, kSpec, with({{"tying", "none"}}));
  const nn::ParameterStore& parameters = narrow.model->parameters();
  for (const nn::Parameter& parameter : plain.model->parameters().all())
    if (parameter.name != "output.weight")
      tensor::copy(tensor::host_memory(), parameter.value, parameters.find(parameter.name)->value);
  const tensor::Tensor projection = parameters.find("output_projection.weight")->value;  // [5, 12]
  const tensor::Tensor output = parameters.find("output.weight")->value;                 // [17, 5]
  EXPECT_EQ(parameters.find("output_projection.bias"), nullptr);
  for (std::int64_t v = 0; v < output.rows; ++v) {
    for (std::int64_t j = 0; j < projection.cols; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < projection.rows; ++i)
        sum += tensor::element(output, v, i) * tensor::element(projection, i, j);
      tensor::set_element(plain.model->parameters().find("output.weight")->value, v, j, sum);
    }
  }
  const std::vector<double> expected = logits(plain);
  const std::vector<double> found = logits(narrow);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12);
  EXPECT_EQ(narrow.model->width(), 12) << "of the layers, whatever the output's";
}

/// Scaling the queries instead of the scores changes nothing but the rounding, and not even that where the factor is a
/// power of two: here for heads of width 4, but not for those of width 6.
TEST(Transformer, EarlyScalingDiffersInRoundingOnly) {
  const Batch source({{5, 9, 4, 2}, {7, 2}});
  const Batch inputs({{1, 6}, {1, 3, 8}});
  const auto states = [&](tensor::Device device, const char* scaling, int heads) {
    Bench bench(device, kSpec, with({{"query_scaling", scaling}, {"heads", heads}}));
    std::vector<double> values;
    bench.context->step([&] { values = values_of(bench.whole_states(source, inputs).value); });
    return values;
  };
  EXPECT_EQ(states(tensor::Device::kCpu, "early", 3), states(tensor::Device::kCpu, "late", 3));
  EXPECT_NE(states(tensor::Device::kCpu, "early", 2), states(tensor::Device::kCpu, "late", 2));
  const std::vector<double> early = states(tensor::Device::kReference, "early", 2);
  const std::vector<double> late = states(tensor::Device::kReference, "late", 2);
  for (std::size_t i = 0; i < early.size(); ++i) EXPECT_NEAR(early[i], late[i], 1e-12);
}

/// A model with tied layers is one whose layers have equal parameters, and gradients add up. Files hold them once.
TEST(Transformer, TiedLayersAreEqualLayers) {
  const Batch source({{5, 9, 4, 2}, {7, 2}});
  const Batch inputs({{1, 6}, {1, 3, 8}});
  const Batch targets({{6, 2}, {3, 8, 2}});
  const core::Json depth{{"encoder_layers", 4}, {"decoder_layers", 3}};
  core::Json sharing = depth;
  sharing["encoder_tied_layers"] = {0, 1, 1, 0};
  sharing["decoder_tied_layers"] = {0, 0, 0};
  Bench tied(tensor::Device::kReference, kSpec, with(sharing));
  Bench plain(tensor::Device::kReference, kSpec, with(depth));
  const auto shared_name = [](std::string name) {
    for (const auto& [from, to] : {std::pair("encoder.layers.2.", "encoder.layers.1."),
                                   {"encoder.layers.3.", "encoder.layers.0."},
                                   {"decoder.layers.1.", "decoder.layers.0."},
                                   {"decoder.layers.2.", "decoder.layers.0."}})
      if (name.starts_with(from)) name.replace(0, std::string(from).size(), to);
    return name;
  };
  std::map<std::string, std::vector<double>> sums;
  for (const nn::Parameter& parameter : plain.model->parameters().all()) {
    const nn::Parameter* const shared = tied.model->parameters().find(shared_name(parameter.name));
    ASSERT_NE(shared, nullptr) << parameter.name;
    tensor::copy(tensor::host_memory(), parameter.value, shared->value);
  }
  EXPECT_EQ(tied.loss(source, inputs, targets, 0.1, true), plain.loss(source, inputs, targets, 0.1, true));
  for (const nn::Parameter& parameter : plain.model->parameters().all()) {
    std::vector<double>& sum = sums[shared_name(parameter.name)];
    const std::vector<double> gradient = values_of(parameter.gradient->value);
    sum.resize(gradient.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
  EXPECT_EQ(sums.size(), tied.model->parameters().all().size()) << "each is there once";
  for (const auto& [name, sum] : sums) {
    const std::vector<double> gradient = values_of(tied.model->parameters().find(name)->gradient->value);
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(gradient[i], sum[i], 1e-12) << name;
  }
  EXPECT_EQ(tied.model->state_layout().histories().size(), 3U) << "each layer remembers for itself";
  EXPECT_EQ(tied.model->state_layout().memories().size(), 3U);
}

/// Fan et al. 2020: a layer that is left out leaves the stream as it was; each layer of each batch is drawn for itself.
TEST(Transformer, LayerDropLeavesLayersOutInTrainingOnly) {
  constexpr int kSteps = 500;
  constexpr double kRate = 0.3;
  const core::Json dropout{{"embedding", 0}, {"sub_layer", 0}, {"activation", 0}, {"attention", 0}, {"layer", kRate}};
  Bench bench(tensor::Device::kCpu, kSpec, with({{"encoder_layers", 3}, {"dropout", dropout}}));
  Bench plain(tensor::Device::kCpu, kSpec, with({{"encoder_layers", 3}}));
  EXPECT_TRUE(bench.model->recordable());
  EXPECT_FALSE(bench.model->recordable_in_training());
  EXPECT_TRUE(plain.model->recordable_in_training());
  const Batch source({{5, 9, 2}});
  const Batch inputs({{1, 6}});
  /// Which of the five layers did nothing.
  const auto left_out = [&](Bench& on, bool training, std::uint64_t step) {
    std::array<bool, 5> result{};
    autograd::training_mode(*on.context).set_training(training);
    autograd::training_mode(*on.context).set_random(11, step);
    on.context->step([&] {
      const nn::Encoding encoding = on.model->encode(*on.context, source.view(), true);
      const std::vector<nn::KeyValue> memories = on.model->memories(*on.context, encoding);
      nn::WholeState state(memories, encoding.offsets);
      const nn::Decoding decoding = on.model->decode(*on.context, inputs.view(), state, true);
      for (std::size_t i = 0; i < 3; ++i)
        result[i] = values_of(encoding.layers[i].value) == values_of(encoding.layers[i + 1].value);
      for (std::size_t i = 0; i < 2; ++i)
        result[3 + i] = values_of(decoding.layers[i].value) == values_of(decoding.layers[i + 1].value);
    });
    return result;
  };
  std::array<int, 5> counts{};
  int first_two = 0;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const std::array<bool, 5> result = left_out(bench, true, step);
    EXPECT_EQ(result, left_out(bench, true, step)) << "a function of seed and step";
    for (std::size_t i = 0; i < 5; ++i) counts[i] += result[i] ? 1 : 0;
    first_two += result[0] && result[1] ? 1 : 0;
  }
  const auto deviation = [](double rate) { return std::sqrt(rate * (1 - rate) * kSteps); };
  for (const int count : counts) EXPECT_NEAR(count, kRate * kSteps, 4 * deviation(kRate));
  EXPECT_NEAR(first_two, kRate * kRate * kSteps, 4 * deviation(kRate * kRate));
  for (std::uint64_t step = 0; step < 20; ++step) {
    EXPECT_EQ(left_out(bench, false, step), (std::array<bool, 5>{}));
    EXPECT_EQ(left_out(plain, true, step), (std::array<bool, 5>{}));
  }
}

TEST(Transformer, ReturnsEveryLayersStatesOnRequest) {
  Bench bench(tensor::Device::kReference, kSpec, with({}));
  const Batch source({{5, 9, 2}});
  bench.context->step([&] {
    const nn::Encoding encoding = bench.model->encode(*bench.context, source.view(), true);
    ASSERT_EQ(encoding.layers.size(), 3U);  // the embedded input and two layers
    for (const nn::Variable& layer : encoding.layers) EXPECT_EQ(layer.value.rows, 3);
    const nn::Encoding plain = bench.model->encode(*bench.context, source.view());
    EXPECT_EQ(values_of(plain.states.value), values_of(encoding.states.value));
  });
}

/// As in fairseq, alignment_heads is a count: the mean of the first k heads, whose weights over the source sum to 1.
TEST(Transformer, BadInputIsRefusedWithItsValues) {
  Bench bench(tensor::Device::kCpu, kSpec, with({}));
  const auto encode = [&](const std::vector<std::vector<std::int32_t>>& sequences) {
    const Batch batch(sequences);
    bench.context->step([&] { bench.model->encode(*bench.context, batch.view()); });
  };
  EXPECT_THROW(encode({{5, 17, 2}}), core::Error);
  EXPECT_THROW(encode({{5, -1, 2}}), core::Error);
  EXPECT_THROW(encode({{}}), core::Error);
  EXPECT_THROW(encode({std::vector<std::int32_t>(41, 3)}), core::Error);
}

}  // namespace
}  // namespace dragoman::testing
