#include "dragoman/decoding/ensemble.h"

#include "ensemble_mean.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>

namespace dragoman::decoding {
namespace {

void require_same(std::int64_t value, std::int64_t expected, const char* name, std::size_t model) {
  core::require(value == expected, core::ErrorCode::kInvalidArgument,
                "ensemble: {} is {} in model {}, but {} in the first one; models that are searched together share "
                "vocabularies and special tokens",
                name, value, model + 1, expected);
}

}  // namespace

nn::SequenceSpec Ensemble::spec() const {
  core::require(!models.empty(), core::ErrorCode::kInvalidArgument, "ensemble: there are no models");
  core::require(weights.empty() || weights.size() == models.size(), core::ErrorCode::kInvalidArgument,
                "ensemble: there are {} weights for {} models", weights.size(), models.size());
  for (const double weight : weights)
    core::require(weight > 0 && std::isfinite(weight), core::ErrorCode::kInvalidArgument,
                  "ensemble: a weight is {}; it must be above 0", weight);
  nn::SequenceSpec spec = models.front()->spec();
  for (std::size_t i = 1; i < models.size(); ++i) {
    const nn::SequenceSpec& other = models[i]->spec();
    require_same(other.source_vocabulary, spec.source_vocabulary, "the size of the source vocabulary", i);
    require_same(other.target_vocabulary, spec.target_vocabulary, "the size of the target vocabulary", i);
    require_same(other.begin, spec.begin, "the begin token", i);
    require_same(other.end, spec.end, "the end token", i);
    require_same(other.unknown, spec.unknown, "the unknown token", i);
    require_same(other.decoder_start, spec.decoder_start, "the decoder's first token", i);
    spec.maximum_source_length = std::min(spec.maximum_source_length, other.maximum_source_length);
    spec.maximum_target_length = std::min(spec.maximum_target_length, other.maximum_target_length);
  }
  return spec;
}

std::vector<double> Ensemble::normalised_weights() const {
  std::vector<double> result = weights;
  if (result.empty()) result.assign(models.size(), 1);
  // Divide by the largest weight first: the sum of large weights may overflow.
  const double largest = *std::ranges::max_element(result);
  for (double& weight : result) weight /= largest;
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& weight : result) weight /= sum;
  return result;
}

struct EnsembleStepper::Member {
  Member(const nn::Seq2SeqModel& model, tensor::Context& context) : stepper(model, context) {}

  ModelStepper stepper;
  core::IntegerMap<std::int32_t, std::int32_t> slots;  ///< maps slots of the ensemble to slots of the model
  std::vector<nn::RowRef> rows;
  StepResult result;
};

namespace {

/// Combines rows of the distributions of all models.
class RowCombiner {
 public:
  RowCombiner(EnsembleMean mean, std::span<const double> weights, std::span<const tensor::HostView> distributions)
      : mean_(mean, weights), distributions_(distributions) {}

  double combined(std::int64_t row, std::int64_t token) const {
    terms_.clear();
    for (const tensor::HostView& own : distributions_) terms_.push_back(tensor::element(own.tensor(), row, token));
    return mean_.combine(terms_);
  }

  /// Computes a whole row as a distribution.
  void all(std::int64_t row, std::vector<double>& result) const {
    result.resize(static_cast<std::size_t>(distributions_.front().tensor().cols));
    for (std::size_t v = 0; v < result.size(); ++v) result[v] = combined(row, static_cast<std::int64_t>(v));
    if (!mean_.is_normalised()) normalise(result);
  }

  /// Finds a superset of the `k` best tokens by mean probability. The mean of a token is between its largest term and
  /// that term times the number of models, so most of the vocabulary needs no exponential.
  void likely(std::int64_t row, std::int64_t k, std::vector<std::int32_t>& tokens) {
    const auto size = static_cast<std::size_t>(distributions_.front().tensor().cols);
    largest_.assign(size, kNone);
    for (std::size_t i = 0; i < distributions_.size(); ++i) {
      const tensor::Tensor& own = distributions_[i].tensor();
      tensor::visit_float(own.dtype, [&]<class Float>(Float) {
        const Float* values = own.row<Float>(row);
        for (std::size_t v = 0; v < size; ++v)
          largest_[v] = std::max(largest_[v], static_cast<double>(values[v]) + mean_.log_weight(i));
      });
    }
    tokens.clear();
    best_.assign(largest_.begin(), largest_.begin() + k);
    std::make_heap(best_.begin(), best_.end(), std::greater<>());
    for (std::size_t v = static_cast<std::size_t>(k); v < size; ++v) {
      if (!(largest_[v] > best_.front())) continue;
      std::pop_heap(best_.begin(), best_.end(), std::greater<>());
      best_.back() = largest_[v];
      std::push_heap(best_.begin(), best_.end(), std::greater<>());
    }
    const double least = best_.front() - std::log(static_cast<double>(distributions_.size())) - 1e-9;
    for (std::size_t v = 0; v < size; ++v)
      if (largest_[v] >= least) tokens.push_back(static_cast<std::int32_t>(v));
  }

 private:
  WeightedMean mean_;
  std::span<const tensor::HostView> distributions_;
  mutable std::vector<double> terms_;
  std::vector<double> largest_;
  std::vector<double> best_;
};

/// Writes the k best of `tokens`, ranked as ops::project_top_k() ranks.
void select_best(std::span<const std::int32_t> tokens, std::span<const double> log_probabilities,
                 std::span<const double> ranks, std::int64_t k, StepResult& result) {
  std::vector<std::size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) { return std::isnan(ranks[i]) ? kNone : ranks[i]; };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::size_t a, std::size_t b) {
    return rank(a) > rank(b) || (rank(a) == rank(b) && tokens[a] < tokens[b]);
  });
  for (std::int64_t i = 0; i < k; ++i) {
    result.tokens.push_back(tokens[order[static_cast<std::size_t>(i)]]);
    result.log_probabilities.push_back(log_probabilities[order[static_cast<std::size_t>(i)]]);
  }
}

}  // namespace

EnsembleStepper::EnsembleStepper(const Ensemble& ensemble, std::span<tensor::Context* const> contexts)
    : spec_(ensemble.spec()), mean_(ensemble.mean), weights_(ensemble.normalised_weights()) {
  core::require(contexts.size() == ensemble.models.size(), core::ErrorCode::kInvalidArgument,
                "ensemble: there are {} contexts for {} models", contexts.size(), ensemble.models.size());
  for (std::size_t i = 0; i < contexts.size(); ++i)
    members_.push_back(std::make_unique<Member>(*ensemble.models[i], *contexts[i]));
}

EnsembleStepper::~EnsembleStepper() = default;

void EnsembleStepper::admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) {
  std::vector<std::vector<std::int32_t>> own(members_.size(), std::vector<std::int32_t>(slots.size(), -1));
  std::size_t admitted = 0;
  try {
    for (; admitted < members_.size(); ++admitted) members_[admitted]->stepper.admit(sources, own[admitted]);
    for (std::size_t i = 0; i < members_.size(); ++i)
      for (std::size_t s = 0; s < slots.size(); ++s) members_[i]->slots[own.front()[s]] = own[i][s];
  } catch (...) {
    for (std::size_t i = 0; i < admitted; ++i)
      for (std::size_t s = 0; s < slots.size(); ++s) {
        members_[i]->stepper.release(own[i][s]);
        members_[i]->slots.erase(own.front()[s]);
      }
    throw;
  }
  std::copy(own.front().begin(), own.front().end(), slots.begin());
}

void EnsembleStepper::release(std::int32_t slot) {
  for (const auto& member : members_) {
    const auto found = member->slots.find(slot);
    if (found == member->slots.end()) continue;
    member->stepper.release(found->second);
    member->slots.erase(found);
  }
}

bool EnsembleStepper::has_alignment() const {
  return std::ranges::all_of(members_, [](const auto& member) { return member->stepper.has_alignment(); });
}

std::size_t EnsembleStepper::bytes_in_use() const {
  std::size_t bytes = 0;
  for (const auto& member : members_) bytes += member->stepper.bytes_in_use();
  return bytes;
}

std::size_t EnsembleStepper::expected_bytes(std::int64_t source_tokens, std::int64_t target_tokens) const {
  std::size_t bytes = 0;
  for (const auto& member : members_) bytes += member->stepper.expected_bytes(source_tokens, target_tokens);
  return bytes;
}

namespace {

/// Returns the log probability of each forced token of a prefix, at its index in `request.next`; 0 elsewhere. `before`
/// has the members' distributions, in the order in which their steppers process such tokens.
std::vector<double> forced_log_probabilities(const StepRequest& request, RowCombiner& before) {
  std::vector<double> forced(request.next.tokens.size(), 0);
  std::vector<double> row;
  std::int64_t scored = 0;
  for (std::int64_t r = 0; r < request.next.batch(); ++r) {
    const std::int32_t begin = request.next.offsets[static_cast<std::size_t>(r)];
    for (std::int32_t i = 1; i < request.next.length(r); ++i) {
      const auto place = static_cast<std::size_t>(begin + i);
      before.all(scored++, row);
      forced[place] = row[static_cast<std::size_t>(request.next.tokens[place])];
    }
  }
  return forced;
}

/// Chooses the candidates of a step's rows by the combined distributions, and computes the log probabilities of the
/// scored tokens.
class RowRanker {
 public:
  RowRanker(RowCombiner& combiner, EnsembleMean mean, std::int64_t vocabulary, const StepRequest& request,
            StepResult& result)
      : combiner_(&combiner), mean_(mean), vocabulary_(vocabulary), request_(&request), result_(&result) {}

  void rank_all() {
    for (std::size_t r = 0; r < request_->rows.size(); ++r) rank(r);
  }

 private:
  void rank(std::size_t r) {
    const std::span<const ops::LogitEdit> edits = edits_of(r);
    const double temperature = request_->temperatures.empty() ? 1 : request_->temperatures[r];
    const bool changed = !edits.empty() || temperature != 1;
    const bool noisy = !request_->noise.empty() && request_->noise[r].drawn;
    if (mean_ == EnsembleMean::kProbability && !changed && !noisy && rank_likely(r)) return;
    combiner_->all(static_cast<std::int64_t>(r), row_);
    for (const ops::LogitEdit& edit : edits) {
      double& logit = row_[static_cast<std::size_t>(edit.token)];
      logit = ops::edited(logit, edit);
    }
    if (temperature != 1)
      for (double& logit : row_) logit /= temperature;
    if (changed) normalise(row_);
    tell_scored(r, [&](std::int32_t token) { return row_[static_cast<std::size_t>(token)]; });
    tokens_.resize(row_.size());
    std::iota(tokens_.begin(), tokens_.end(), 0);
    ranks_ = row_;
    if (noisy)
      for (std::size_t v = 0; v < ranks_.size(); ++v)
        ranks_[v] += ops::gumbel_noise(request_->noise[r], vocabulary_, static_cast<std::int64_t>(v));
    select_best(tokens_, row_, ranks_, request_->candidates, *result_);
  }

  /// Ranks only the tokens that may be among the best. Returns false if the combiner cannot determine them.
  bool rank_likely(std::size_t r) {
    const auto row = static_cast<std::int64_t>(r);
    tokens_.clear();
    combiner_->likely(row, request_->candidates, tokens_);
    if (tokens_.empty()) return false;
    row_.clear();
    for (const std::int32_t token : tokens_) row_.push_back(combiner_->combined(row, token));
    select_best(tokens_, row_, row_, request_->candidates, *result_);
    tell_scored(r, [&](std::int32_t token) { return combiner_->combined(row, token); });
    return true;
  }

  std::span<const ops::LogitEdit> edits_of(std::size_t r) {
    const std::span<const ops::LogitEdit> edits = request_->edits;
    const std::size_t begin = next_edit_;
    while (next_edit_ < edits.size() && edits[next_edit_].row == static_cast<std::int32_t>(r)) ++next_edit_;
    return edits.subspan(begin, next_edit_ - begin);
  }

  void tell_scored(std::size_t r, const auto& log_probability_of) {
    const std::span<const ops::ScoredToken> scored = request_->scored;
    for (; next_scored_ < scored.size() && scored[next_scored_].row == static_cast<std::int32_t>(r); ++next_scored_)
      result_->scored_log_probabilities.push_back(log_probability_of(scored[next_scored_].token));
  }

  RowCombiner* combiner_;
  EnsembleMean mean_;
  std::int64_t vocabulary_;
  const StepRequest* request_;
  StepResult* result_;
  std::size_t next_edit_ = 0;
  std::size_t next_scored_ = 0;
  std::vector<double> row_;
  std::vector<double> ranks_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace

void EnsembleStepper::step(const StepRequest& request, StepResult& result) {
  core::require(!request.alignment || has_alignment(), core::ErrorCode::kUnsupported,
                "a model of this ensemble has no attention to take alignments from");
  core::require(request.shortlist_of_row.empty(), core::ErrorCode::kUnsupported,
                "decoding: an ensemble needs each model's whole distribution, so a shortlist would save nothing; leave "
                "it out");
  std::vector<tensor::HostView> last;
  std::vector<tensor::HostView> before_forced;
  for (const auto& member : members_) {
    member->rows.assign(request.rows.begin(), request.rows.end());
    for (nn::RowRef& row : member->rows) row.slot = member->slots.at(row.slot);
    StepRequest own = request;
    own.rows = member->rows;
    ModelStepper::Distributions distributions = member->stepper.distributions(own, member->result);
    last.push_back(std::move(distributions.last));
    if (distributions.before_forced) before_forced.push_back(std::move(*distributions.before_forced));
  }

  result.alignments = members_.front()->result.alignments;
  for (std::size_t t = 0; t < result.alignments.size(); ++t)
    for (std::size_t s = 0; s < result.alignments[t].size(); ++s) {
      double sum = 0;
      for (const auto& member : members_) sum += member->result.alignments[t][s];
      result.alignments[t][s] = static_cast<float>(sum / static_cast<double>(members_.size()));
    }

  result.forced_log_probabilities.assign(request.next.tokens.size(), 0);
  if (!before_forced.empty()) {
    RowCombiner combiner(mean_, weights_, before_forced);
    result.forced_log_probabilities = forced_log_probabilities(request, combiner);
  }

  result.tokens.clear();
  result.log_probabilities.clear();
  result.scored_log_probabilities.clear();
  RowCombiner combiner(mean_, weights_, last);
  RowRanker(combiner, mean_, spec_.target_vocabulary, request, result).rank_all();
}

}  // namespace dragoman::decoding
