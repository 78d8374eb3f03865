#pragma once

#include <vector>

#include <dragoman/decoding/length_penalty.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::decoding {

struct TargetScore {
  /// log_probability under the length penalty.
  double score = 0;
  double log_probability = 0;
  /// Natural logarithms, one per target token, then one for the end.
  std::vector<double> token_log_probabilities;
};

/// Forced decoding: computes the probability of each target given its source, by teacher forcing. Sources include the
/// closing end, targets exclude it; the end is scored as the last token. Targets may be empty. Both batches have the
/// same number of sentences. They are processed in batches of about `piece_tokens` source and target tokens, which does
/// not affect the result. Frees the context's step memory. Error{kInvalidArgument} for targets that are too long.
///
///     double log_probability(const nn::Seq2SeqModel& model, tensor::Context& context,
///                            const tensor::RaggedTokens& source, const tensor::RaggedTokens& target) {
///       return score(model, context, source, target).front().log_probability;
///     }
std::vector<TargetScore> score(const nn::Seq2SeqModel& model, tensor::Context& context,
                               const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets,
                               const LengthPenalty& penalty = {}, std::int64_t piece_tokens = 2048);

}  // namespace dragoman::decoding
