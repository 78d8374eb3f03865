#include "dragoman/decoding/score.h"

#include "forced_targets.h"

#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::decoding {
namespace {

/// Sentences [begin, end) of a batch, as a batch of their own.
class Piece {
 public:
  Piece(const tensor::RaggedTokens& batch, std::int64_t begin, std::int64_t end) {
    const std::int32_t first = batch.offsets[static_cast<std::size_t>(begin)];
    for (std::int64_t b = begin; b <= end; ++b) offsets_.push_back(batch.offsets[static_cast<std::size_t>(b)] - first);
    tokens_ = batch.tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(offsets_.back()));
  }
  tensor::RaggedTokens view() const { return {tokens_, offsets_}; }

 private:
  std::span<const std::int32_t> tokens_;
  std::vector<std::int32_t> offsets_;
};

std::vector<double> label_log_probabilities(const nn::Seq2SeqModel& model, tensor::Context& context,
                                            const tensor::RaggedTokens& sources, const ForcedTargets& targets) {
  std::vector<double> result(targets.labels.size());
  context.step([&] {
    const nn::Encoding encoding = model.encode(context, sources);
    const std::vector<nn::KeyValue> memories = model.memories(context, encoding);
    nn::DecoderState state = nn::DecoderState::whole(memories, encoding.offsets, model.parameters().compute_type());
    const nn::Decoding decoding = model.decode(context, tensor::RaggedTokens{targets.inputs, targets.offsets}, state);
    ops::target_log_probabilities(context, decoding.states.value, model.output(), context.indices(targets.labels),
                                  result);
  });
  return result;
}

void score_piece(const nn::Seq2SeqModel& model, tensor::Context& context, const tensor::RaggedTokens& sources,
                 const tensor::RaggedTokens& targets, const LengthPenalty& penalty, std::vector<TargetScore>& results) {
  const ForcedTargets forced(targets, model.spec());
  const std::vector<double> scores = label_log_probabilities(model, context, sources, forced);
  for (std::int64_t b = 0; b < targets.batch(); ++b) {
    TargetScore& result = results.emplace_back();
    result.token_log_probabilities.assign(scores.begin() + forced.offsets[static_cast<std::size_t>(b)],
                                          scores.begin() + forced.offsets[static_cast<std::size_t>(b) + 1]);
    result.log_probability =
        std::accumulate(result.token_log_probabilities.begin(), result.token_log_probabilities.end(), 0.0);
    result.score = penalty.score(result.log_probability, targets.length(b), true);
  }
}

}  // namespace

std::vector<TargetScore> score(const nn::Seq2SeqModel& model, tensor::Context& context,
                               const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets,
                               const LengthPenalty& penalty, std::int64_t piece_tokens) {
  core::require(sources.batch() == targets.batch(), core::ErrorCode::kInvalidArgument,
                "score: {} sources but {} targets", sources.batch(), targets.batch());
  tensor::check_ragged(sources, model.spec().source_vocabulary);
  tensor::check_ragged(targets, model.spec().target_vocabulary);
  std::vector<TargetScore> results;
  results.reserve(static_cast<std::size_t>(sources.batch()));
  for (std::int64_t begin = 0; begin < sources.batch();) {
    std::int64_t end = begin;
    std::int64_t tokens = 0;
    do {
      tokens += sources.length(end) + targets.length(end) + 1;
      ++end;
    } while (end < sources.batch() && tokens + sources.length(end) + targets.length(end) + 1 <= piece_tokens);
    score_piece(model, context, Piece(sources, begin, end).view(), Piece(targets, begin, end).view(), penalty, results);
    begin = end;
  }
  return results;
}

}  // namespace dragoman::decoding
