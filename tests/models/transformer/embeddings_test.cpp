#include "dragoman/transformer/embeddings.h"

#include "model_harness.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/nn/pooled_state.h>
#include <dragoman/nn/whole_state.h>

namespace dragoman::testing {
namespace {

constexpr std::int64_t kEmbeddingWidth = 6;

/// The input of a stack, out of parameters and formulas: norm?(scale * table[id] + PE(offset + i)).
class EmbeddedInput {
 public:
  EmbeddedInput(const nn::Seq2SeqModel& model, const core::Json& config, const std::string& side)
      : model_(&model), config_(config), side_(side), table_(&parameter(find_table())) {}

  std::vector<double> operator()(std::int32_t id, std::int64_t i) const {
    const double scale = config_["embedding_scale"].get<bool>() ? std::sqrt(static_cast<double>(kEmbeddingWidth)) : 1;
    std::vector<double> x(kEmbeddingWidth);
    for (std::int64_t c = 0; c < kEmbeddingWidth; ++c)
      x[static_cast<std::size_t>(c)] =
          scale * tensor::element(table_->value, id, c) + position(config_["position_offset"].get<int>() + i, c);
    return config_["embedding_norm"].get<bool>() ? norm(x) : x;
  }

  /// PE(p), column c.
  double position(std::int64_t p, std::int64_t c) const {
    const std::string kind = config_["positions"];
    if (kind == "learned") return tensor::element(parameter(side_ + ".positions.weight").value, p, c);
    const std::int64_t half = kEmbeddingWidth / 2;
    const bool interleaved = kind == "sinusoidal-interleaved";
    const std::int64_t i = interleaved ? c / 2 : c % half;
    const bool sine = interleaved ? c % 2 == 0 : c < half;
    const double exponent = kind == "sinusoidal-tensor2tensor" ? static_cast<double>(i) / static_cast<double>(half - 1)
                                                               : static_cast<double>(i) / static_cast<double>(half);
    const double angle = static_cast<double>(p) / std::pow(10000.0, exponent);
    return sine ? std::sin(angle) : std::cos(angle);
  }

 private:
  const nn::Parameter& parameter(const std::string& name) const {
    const nn::Parameter* found = model_->parameters().find(name);
    if (found == nullptr) throw std::runtime_error("the model has no " + name);
    return *found;
  }
  std::string find_table() const { return side_ == "encoder" ? "source_embedding.weight" : "target_embedding.weight"; }

  std::vector<double> norm(const std::vector<double>& x) const {
    const double n = static_cast<double>(x.size());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
    double variance = 0;
    for (const double value : x) variance += (value - mean) * (value - mean) / n;
    std::vector<double> y;
    for (std::size_t c = 0; c < x.size(); ++c) {
      const auto col = static_cast<std::int64_t>(c);
      y.push_back((x[c] - mean) / std::sqrt(variance + 1e-5) *
                      tensor::element(parameter(side_ + ".norm.weight").value, 0, col) +
                  tensor::element(parameter(side_ + ".norm.bias").value, 0, col));
    }
    return y;
  }

  const nn::Seq2SeqModel* model_;
  core::Json config_;
  std::string side_;
  const nn::Parameter* table_;
};

/// A model whose inputs are embedded in one way, and two batches for it.
struct EmbeddingsBench {
  EmbeddingsBench(tensor::Device device, const core::Json& config)
      : bench(
            device,
            {.source_vocabulary = 11, .target_vocabulary = 13, .maximum_source_length = 5, .maximum_target_length = 4},
            config),
        of_encoder(*bench.model, config, "encoder"),
        of_decoder(*bench.model, config, "decoder"),
        tolerance(device == tensor::Device::kReference ? 1e-13 : 2e-6) {}

  void expect_rows(const tensor::Tensor& actual, const EmbeddedInput& expected, const Batch& batch) const {
    ASSERT_EQ(actual.rows, static_cast<std::int64_t>(batch.tokens.size()));
    for (std::int64_t b = 0; b < batch.view().batch(); ++b)
      for (std::int32_t i = 0; i < batch.view().length(b); ++i)
        expect_row(actual, batch.offsets[static_cast<std::size_t>(b)] + i,
                   expected(batch.view().sequence(b)[static_cast<std::size_t>(i)], i));
  }
  void expect_row(const tensor::Tensor& actual, std::int64_t row, const std::vector<double>& expected) const {
    for (std::int64_t c = 0; c < kEmbeddingWidth; ++c)
      EXPECT_NEAR(tensor::element(actual, row, c), expected[static_cast<std::size_t>(c)], tolerance)
          << "row " << row << " column " << c;
  }

  Bench bench;
  EmbeddedInput of_encoder;
  EmbeddedInput of_decoder;
  double tolerance;
  const Batch source{{{5, 9, 4, 10, 2}, {7, 2}}};  // as long as the model takes
  const Batch inputs{{{1, 12, 5, 8}, {1, 6}}};
};

/// Every kind of positions; for each with an offset and without, scaled or not, normalised or not.
class EmbeddingsTest : public ::testing::TestWithParam<std::tuple<const char*, tensor::Device>> {
 protected:
  static void for_each_variant(const std::function<void(EmbeddingsBench&)>& check) {
    const auto& [positions, device] = GetParam();
    for (const int offset : {0, 2})
      for (const bool scale : {true, false})
        for (const bool norm : {false, true}) {
          const core::Json config{{"d_model", kEmbeddingWidth}, {"heads", 2},
                                  {"feed_forward", 8},          {"encoder_layers", 1},
                                  {"decoder_layers", 1},        {"tying", "none"},
                                  {"positions", positions},     {"position_offset", offset},
                                  {"embedding_scale", scale},   {"embedding_norm", norm}};
          SCOPED_TRACE(config.dump());
          EmbeddingsBench variant(device, config);
          check(variant);
        }
  }
};

TEST_P(EmbeddingsTest, EqualTheFormulaInEveryVariant) {
  for_each_variant([](EmbeddingsBench& variant) {
    nn::Seq2SeqModel& model = *variant.bench.model;
    tensor::Context& context = *variant.bench.context;
    context.step([&] {
      const nn::Encoding encoding = model.encode(context, variant.source.view(), true);
      variant.expect_rows(encoding.layers[0].value, variant.of_encoder, variant.source);
      const auto memories = model.memories(context, encoding);
      nn::WholeState state(memories, encoding.offsets);
      const nn::Decoding decoding = model.decode(context, variant.inputs.view(), state, true);
      variant.expect_rows(decoding.layers[0].value, variant.of_decoder, variant.inputs);
    });
  });
}

/// Sentence 1 begins two steps after sentence 0, so the rows of a step differ in position.
TEST_P(EmbeddingsTest, StepTHasThePositionTBehindTheOffset) {
  const std::vector<std::vector<std::vector<std::int32_t>>> steps = {{{1}}, {{12}}, {{5}, {1}}, {{8}, {6}}};
  for_each_variant([&](EmbeddingsBench& variant) {
    nn::Seq2SeqModel& model = *variant.bench.model;
    tensor::Context& context = *variant.bench.context;
    nn::PooledState state(context, model.state_layout());
    std::vector<std::int32_t> slots(2);
    context.step([&] {
      const nn::Encoding encoding = model.encode(context, variant.source.view());
      state.admit(context, encoding.offsets.host, slots);
      state.store_memories(context, model.memories(context, encoding));
    });
    for (std::int32_t t = 0; t < 4; ++t) {
      std::vector<nn::RowRef> rows = {{slots[0], t == 0 ? -1 : 0}};
      if (t >= 2) rows.push_back({slots[1], t == 2 ? -1 : 1});
      state.set_rows(rows);
      context.step([&] {
        const Batch next(steps[static_cast<std::size_t>(t)]);
        const nn::Decoding decoding = model.decode(context, next.view(), state, true);
        variant.expect_row(decoding.layers[0].value, 0, variant.of_decoder(next.tokens[0], t));
        if (t >= 2) variant.expect_row(decoding.layers[0].value, 1, variant.of_decoder(next.tokens[1], t - 2));
      });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, EmbeddingsTest,
                         ::testing::Combine(::testing::Values("sinusoidal-interleaved", "sinusoidal-concatenated",
                                                              "sinusoidal-tensor2tensor", "learned"),
                                            ::testing::Values(tensor::Device::kReference, tensor::Device::kCpu)),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + "_" + std::string(tensor::name_of(std::get<1>(test.param)));
                         });

/// fairseq counts positions from padding_idx + 1 = 2: row 0 of a sentence is embedded with sin(2 w) and cos(2 w).
TEST(Embeddings, FairseqsFirstPositionIsTwo) {
  Bench bench(tensor::Device::kReference, {.source_vocabulary = 11, .target_vocabulary = 11},
              {{"d_model", 4},
               {"heads", 1},
               {"feed_forward", 4},
               {"encoder_layers", 1},
               {"decoder_layers", 1},
               {"positions", "sinusoidal-tensor2tensor"},
               {"position_offset", 2}});
  const nn::Parameter& table = *bench.model->parameters().find("embedding.weight");
  const Batch source({{3, 2}});
  bench.context->step([&] {
    const tensor::Tensor x = bench.model->encode(*bench.context, source.view(), true).layers[0].value;
    const double expected[] = {std::sin(2), std::sin(2e-4), std::cos(2), std::cos(2e-4)};
    for (std::int64_t c = 0; c < 4; ++c)
      EXPECT_NEAR(tensor::element(x, 0, c) - 2 * tensor::element(table.value, 3, c), expected[c], 1e-13);
  });
}

}  // namespace
}  // namespace dragoman::testing
