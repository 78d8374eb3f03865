#include "small_model.h"

#include "table_model.h"

#include <gtest/gtest.h>

#include <dragoman/backend_reference/install.h>
#include <dragoman/core/json.h>
#include <dragoman/core/random.h>
#include <dragoman/nn/layers.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/linear.h>

namespace dragoman::testing {
namespace {

using nn::Variable;

constexpr std::int64_t kWidth = 12;
constexpr int kHeads = 2;

/// Large weights, so that the distributions are far from uniform and every input matters.
constexpr double kDeviation = 0.9;

class TwoLayerModel final : public nn::Seq2SeqModel {
 public:
  explicit TwoLayerModel(const nn::SequenceSpec& spec)
      : Seq2SeqModel(spec),
        source_table_(table("source", spec.source_vocabulary)),
        source_positions_(table("source_positions", spec.maximum_source_length)),
        target_table_(table("target", spec.target_vocabulary)),
        target_positions_(table("target_positions", spec.maximum_target_length)),
        mix_(root() / "mix", kWidth, kWidth),
        query_(root() / "query", kWidth, kWidth),
        key_(root() / "key", kWidth, kWidth),
        value_(root() / "value", kWidth, kWidth),
        source_query_(root() / "source_query", kWidth, kWidth),
        source_key_(root() / "source_key", kWidth, kWidth),
        source_value_(root() / "source_value", kWidth, kWidth),
        output_(table("output", spec.target_vocabulary)),
        history_(mutable_layout().add_history(kWidth)),
        memory_(mutable_layout().add_memory(kWidth)) {
    output_->is_weight = true;
  }

  std::vector<nn::KeyValue> memories(tensor::Context& context, const nn::Encoding& encoding) const override {
    return {{source_key_(context, encoding.states), source_value_(context, encoding.states)}};
  }
  ops::Projection output() const override { return {output_->weight(), {}}; }
  nn::AlignmentHeads alignment_heads() const override { return {memory_, kHeads}; }
  core::Json config() const override { return core::Json::object(); }

 protected:
  nn::Encoding run_encoder(tensor::Context& context, const nn::Sequences& source, bool) const override {
    const Variable x = ops::embedding(context, source.tokens, source_table_->variable(), source.positions,
                                      source_positions_->variable(), {});
    nn::Encoding encoding;
    encoding.offsets = source.offsets;
    encoding.states = mix_(context, x, ops::Activation::kTanh);
    return encoding;
  }

  nn::Decoding run_decoder(tensor::Context& context, const nn::Sequences& next, nn::DecoderState& state,
                           bool) const override {
    Variable x = ops::embedding(context, next.tokens, target_table_->variable(), state.positions(),
                                target_positions_->variable(), {});
    x = ops::add(
        context, x,
        state.attend_history(context, history_, query_(context, x), key_(context, x), value_(context, x), kHeads, 0));
    nn::Decoding decoding;
    decoding.states = ops::add(context, x, state.attend_memory(context, memory_, source_query_(context, x), kHeads, 0));
    return decoding;
  }

 private:
  nn::Scope root() { return nn::Scope(parameters()); }
  nn::Parameter* table(const char* name, std::int64_t rows) {
    return &root().matrix(name, rows, kWidth, nn::Initialiser::normal(kDeviation));
  }

  nn::Parameter* source_table_;
  nn::Parameter* source_positions_;
  nn::Parameter* target_table_;
  nn::Parameter* target_positions_;
  nn::Linear mix_;
  nn::Linear query_;
  nn::Linear key_;
  nn::Linear value_;
  nn::Linear source_query_;
  nn::Linear source_key_;
  nn::Linear source_value_;
  nn::Parameter* output_;
  nn::HistoryId history_;
  nn::MemoryId memory_;
};

nn::SequenceSpec small_spec(std::int32_t decoder_start) {
  nn::SequenceSpec spec;
  spec.decoder_start = decoder_start;
  spec.source_vocabulary = SmallModel::kVocabulary;
  spec.target_vocabulary = SmallModel::kVocabulary;
  spec.maximum_source_length = 40;
  spec.maximum_target_length = 40;
  return spec;
}

}  // namespace

SmallModel::SmallModel(std::uint64_t seed, std::int32_t decoder_start)
    : kernels_(tensor::Device::kReference),
      context_(kernels_, tensor::host_memory(), tensor::DType::kF64, executor_),
      model_(std::make_unique<TwoLayerModel>(small_spec(decoder_start))) {
  backend::reference::install_kernels(kernels_);
  model_->parameters().allocate(tensor::host_memory(), tensor::DType::kF64, tensor::Device::kReference);
  model_->parameters().initialise(seed);
}

SmallModel::~SmallModel() = default;

std::vector<double> next_logits(SmallModel& small, const std::vector<std::int32_t>& source,
                                const std::vector<std::int32_t>& target) {
  const nn::Seq2SeqModel& model = small.model();
  tensor::Context& context = small.context();
  std::vector<std::int32_t> inputs{model.spec().decoder_start};
  inputs.insert(inputs.end(), target.begin(), target.end());
  const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(source.size())};
  const std::vector<std::int32_t> input_offsets{0, static_cast<std::int32_t>(inputs.size())};
  std::vector<double> result;
  context.step([&] {
    const nn::Encoding encoding = model.encode(context, tensor::RaggedTokens{source, source_offsets});
    const auto memories = model.memories(context, encoding);
    nn::WholeState state(memories, encoding.offsets);
    const nn::Decoding decoding = model.decode(context, tensor::RaggedTokens{inputs, input_offsets}, state);
    const ops::Projection output = model.output();
    const Variable logits = ops::linear(context, decoding.states, output.weight, output.bias);
    for (std::int64_t v = 0; v < logits.value.cols; ++v)
      result.push_back(tensor::element(logits.value, logits.value.rows - 1, v));
  });
  return result;
}

void expect_full_pass(SmallModel& small, const decoding::Sentence& sentence, const decoding::Hypothesis& hypothesis) {
  std::vector<std::int32_t> before;
  ASSERT_EQ(hypothesis.token_log_probabilities.size(),
            hypothesis.tokens.size() + (hypothesis.stopped_by == decoding::StoppedBy::kEnd ? 1 : 0));
  for (std::size_t t = 0; t < hypothesis.token_log_probabilities.size(); ++t) {
    const std::int32_t token = t < hypothesis.tokens.size() ? hypothesis.tokens[t] : small.model().spec().end;
    const auto expected = log_softmax(next_logits(small, sentence.source, before));
    EXPECT_NEAR(hypothesis.token_log_probabilities[t], expected[static_cast<std::size_t>(token)], 1e-9)
        << "token " << t;
    before.push_back(token);
  }
}

std::vector<decoding::Sentence> small_sentences(std::size_t count, std::int32_t longest, std::uint64_t seed) {
  std::vector<decoding::Sentence> sentences(count);
  for (std::size_t i = 0; i < count; ++i) {
    sentences[i].line = i;
    const std::uint64_t length = 1 + core::random_below(static_cast<std::uint64_t>(longest), seed, i, 0);
    for (std::uint64_t t = 0; t < length; ++t)
      sentences[i].source.push_back(
          3 + static_cast<std::int32_t>(core::random_below(SmallModel::kVocabulary - 3, seed, i, t + 1)));
    sentences[i].source.push_back(2);
  }
  return sentences;
}

}  // namespace dragoman::testing
