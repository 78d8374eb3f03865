#include "dragoman/decoding/score.h"

#include "batch_pieces.h"
#include "forced_targets.h"

#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::decoding {
namespace {

std::vector<double> label_log_probabilities(const nn::Seq2SeqModel& model, tensor::Context& context,
                                            const tensor::RaggedTokens& sources, const ForcedTargets& targets) {
  std::vector<double> result(targets.labels.size());
  context.step([&] {
    const nn::Encoding encoding = model.encode(context, sources);
    const std::vector<nn::KeyValue> memories = model.memories(context, encoding);
    nn::WholeState state(memories, encoding.offsets, model.parameters().compute_type());
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
  for_each_piece(sources, targets, piece_tokens,
                 [&](const tensor::RaggedTokens& some, const tensor::RaggedTokens& own) {
                   score_piece(model, context, some, own, penalty, results);
                 });
  return results;
}

}  // namespace dragoman::decoding
