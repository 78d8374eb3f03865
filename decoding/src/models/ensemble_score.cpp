#include "batch_pieces.h"
#include "dragoman/decoding/ensemble.h"
#include "ensemble_mean.h"
#include "forced_pass.h"

#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::decoding {
namespace {

/// Target tokens per batch: memory holds whole distributions of several models.
constexpr std::int64_t kDistributionTokens = 512;

/// The mean of probabilities needs the probabilities of the targets only.
void combine_target_scores(const WeightedMean& mean, std::span<const std::vector<TargetScore>> of_models,
                           std::vector<TargetScore>& results) {
  std::vector<double> terms(of_models.size());
  for (std::size_t b = 0; b < of_models.front().size(); ++b) {
    TargetScore& result = results.emplace_back();
    for (std::size_t t = 0; t < of_models.front()[b].token_log_probabilities.size(); ++t) {
      for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = of_models[i][b].token_log_probabilities[t];
      result.token_log_probabilities.push_back(mean.combine(terms));
    }
  }
}

/// A normalised product needs the whole distributions.
void combine_distributions(const WeightedMean& mean, const ForcedTargets& targets,
                           std::span<const tensor::HostView> distributions, std::vector<TargetScore>& results) {
  std::vector<double> terms(distributions.size());
  std::vector<double> row(static_cast<std::size_t>(distributions.front().tensor().cols));
  for (std::size_t b = 0; b + 1 < targets.offsets.size(); ++b) {
    TargetScore& result = results.emplace_back();
    for (std::int32_t t = targets.offsets[b]; t < targets.offsets[b + 1]; ++t) {
      for (std::size_t v = 0; v < row.size(); ++v) {
        for (std::size_t i = 0; i < terms.size(); ++i)
          terms[i] = tensor::element(distributions[i].tensor(), t, static_cast<std::int64_t>(v));
        row[v] = mean.combine(terms);
      }
      const auto label = static_cast<std::size_t>(targets.labels[static_cast<std::size_t>(t)]);
      result.token_log_probabilities.push_back(row[label] - log_sum_exp(row));
    }
  }
}

}  // namespace

std::vector<TargetScore> score(const Ensemble& ensemble, std::span<tensor::Context* const> contexts,
                               const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets,
                               const LengthPenalty& penalty) {
  const nn::SequenceSpec spec = ensemble.spec();
  core::require(contexts.size() == ensemble.models.size(), core::ErrorCode::kInvalidArgument,
                "ensemble: there are {} contexts for {} models", contexts.size(), ensemble.models.size());
  core::require(sources.batch() == targets.batch(), core::ErrorCode::kInvalidArgument,
                "score: {} sources but {} targets", sources.batch(), targets.batch());
  tensor::check_ragged(sources, spec.source_vocabulary);
  tensor::check_ragged(targets, spec.target_vocabulary);
  const std::vector<double> weights = ensemble.normalised_weights();
  const WeightedMean mean(ensemble.mean, weights);
  std::vector<TargetScore> results;
  if (mean.is_normalised()) {
    std::vector<std::vector<TargetScore>> of_models;
    for (std::size_t i = 0; i < contexts.size(); ++i)
      of_models.push_back(score(*ensemble.models[i], *contexts[i], sources, targets));
    combine_target_scores(mean, of_models, results);
  } else {
    for_each_piece(sources, targets, kDistributionTokens,
                   [&](const tensor::RaggedTokens& some, const tensor::RaggedTokens& own) {
                     const ForcedTargets forced(own, spec);
                     std::vector<tensor::HostView> distributions;
                     for (std::size_t i = 0; i < contexts.size(); ++i)
                       distributions.push_back(tensor::HostView::of(
                           contexts[i]->memory(),
                           forced_pass(*ensemble.models[i], *contexts[i], some, forced, false).log_probabilities));
                     combine_distributions(mean, forced, distributions, results);
                   });
  }
  for (std::int64_t b = 0; b < targets.batch(); ++b) {
    TargetScore& result = results[static_cast<std::size_t>(b)];
    result.log_probability =
        std::accumulate(result.token_log_probabilities.begin(), result.token_log_probabilities.end(), 0.0);
    result.score = penalty.score(result.log_probability, targets.length(b), true);
  }
  return results;
}

}  // namespace dragoman::decoding
