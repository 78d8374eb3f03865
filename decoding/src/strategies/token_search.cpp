#include "dragoman/decoding/token_search.h"

#include <algorithm>
#include <any>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace dragoman::decoding {
namespace {

class WeightedSampler final : public SearchStrategy {
 public:
  WeightedSampler(const WeightedSampling& options, std::int32_t samples) : options_(options), samples_(samples) {}

  StepNeeds needs(std::int64_t vocabulary) const override {
    const std::int64_t wanted = options_.top_k > 0 ? options_.top_k : vocabulary;
    return {.candidates = std::min(wanted, vocabulary)};
  }
  std::int32_t starts() const override { return samples_; }
  std::int32_t maximum_live() const override { return samples_; }

  void advance(SentenceState& state, const Candidates& candidates, Advance& result) override {
    if (!state.memory.has_value()) state.memory = make_generator(state.sentence.line);
    auto& generator = std::any_cast<std::mt19937&>(state.memory);
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(state.live.size()); ++row) {
      const std::int64_t rank = draw(candidates, row, generator);
      const std::int32_t token = rank < 0 ? -1 : candidates.token(row, rank);
      const double log_probability = rank < 0 ? 0 : candidates.log_probability(row, rank);
      if (token >= 0 && state.is_end(token))
        result.endings.push_back({row, StoppedBy::kEnd, log_probability, 0, token});
      else if (token < 0 || state.length == state.maximum_length)
        result.endings.push_back({row, StoppedBy::kLength, 0, 0});
      else
        result.continuations.push_back({row, token, log_probability});
    }
  }

 private:
  std::mt19937 make_generator(std::uint64_t line) const {
    if (line == 0) return std::mt19937(options_.seed);
    std::seed_seq seeds{options_.seed, static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(line >> 32)};
    return std::mt19937(seeds);
  }

  /// Returns the rank of a candidate, or -1 if there is none.
  std::int64_t draw(const Candidates& candidates, std::int64_t row, std::mt19937& generator) {
    ranks_.clear();
    weights_.clear();
    const double best = candidates.log_probability(row, 0);
    if (!(best > -std::numeric_limits<double>::infinity())) return -1;
    double total = 0;
    for (std::int64_t rank = 0; rank < candidates.per_row; ++rank) {
      const double weight = std::exp((candidates.log_probability(row, rank) - best) / options_.temperature);
      if (!(weight > 0)) continue;
      ranks_.push_back(rank);
      weights_.push_back(static_cast<float>(weight));
      total += weight;
    }
    double sum = 0;  // candidates are sorted, so the nucleus is at the beginning
    for (std::size_t i = 0; i < weights_.size() && options_.top_p < 1; ++i) {
      if (sum >= options_.top_p * total) weights_[i] = 0;
      sum += static_cast<double>(weights_[i]);
    }
    if (options_.top_k == 0) sort_by_token(candidates, row);
    std::discrete_distribution<std::int32_t> distribution(weights_.begin(), weights_.end());
    return ranks_[static_cast<std::size_t>(distribution(generator))];
  }

  void sort_by_token(const Candidates& candidates, std::int64_t row) {
    order_.clear();
    for (std::size_t i = 0; i < ranks_.size(); ++i) order_.push_back({candidates.token(row, ranks_[i]), i});
    std::ranges::sort(order_);
    std::vector<std::int64_t> ranks;
    std::vector<float> weights;
    for (const auto& [token, i] : order_) {
      ranks.push_back(ranks_[i]);
      weights.push_back(weights_[i]);
    }
    ranks_ = std::move(ranks);
    weights_ = std::move(weights);
  }

  WeightedSampling options_;
  std::int32_t samples_;
  std::vector<std::int64_t> ranks_;
  std::vector<float> weights_;
  std::vector<std::pair<std::int32_t, std::size_t>> order_;
};

class BiasedSearch final : public SearchStrategy {
 public:
  BiasedSearch(std::unique_ptr<SearchStrategy> search, double beta, std::vector<std::int32_t> prefix)
      : search_(std::move(search)), beta_(beta), prefix_(std::move(prefix)) {}

  StepNeeds needs(std::int64_t vocabulary) const override { return search_->needs(vocabulary); }
  std::int32_t starts() const override { return search_->starts(); }
  std::int32_t maximum_live() const override { return search_->maximum_live(); }
  std::int32_t results_per_start() const override { return search_->results_per_start(); }
  bool done(const SentenceState& state) override { return search_->done(state); }

  void request_scores(const SentenceState&, const LiveHypothesis& hypothesis,
                      std::vector<std::int32_t>& tokens) const override {
    if (follows(hypothesis)) tokens.push_back(prefix_[hypothesis.tokens.size()]);
  }

  void advance(SentenceState& state, const Candidates& candidates, Advance& result) override {
    tokens_.clear();
    log_probabilities_.clear();
    for (std::int64_t row = 0; row < candidates.rows(); ++row)
      add_row(candidates, row, state.live[static_cast<std::size_t>(row)]);
    search_->advance(state, {.tokens = tokens_, .log_probabilities = log_probabilities_, .per_row = candidates.per_row},
                     result);
  }

 private:
  bool follows(const LiveHypothesis& hypothesis) const {
    return hypothesis.tokens.size() < prefix_.size() &&
           std::equal(hypothesis.tokens.begin(), hypothesis.tokens.end(), prefix_.begin());
  }

  void add_row(const Candidates& candidates, std::int64_t row, const LiveHypothesis& hypothesis) {
    std::vector<std::pair<double, std::int32_t>> choices;
    const bool biased = follows(hypothesis);
    const std::int32_t next = biased ? prefix_[hypothesis.tokens.size()] : -1;
    for (std::int64_t rank = 0; rank < candidates.per_row; ++rank)
      if (candidates.token(row, rank) != next)
        choices.emplace_back(candidates.log_probability(row, rank) + (biased ? std::log1p(-beta_) : 0),
                             candidates.token(row, rank));
    for (std::size_t i = 0; biased && i < candidates.scored.size(); ++i)
      if (candidates.scored[i].row - candidates.first_row == row && candidates.scored[i].token == next)
        choices.emplace_back(std::log((1 - beta_) * std::exp(candidates.scored_log_probabilities[i]) + beta_), next);
    std::ranges::stable_sort(choices, [](const auto& a, const auto& b) { return a.first > b.first; });
    choices.resize(static_cast<std::size_t>(candidates.per_row), {-std::numeric_limits<double>::infinity(), 0});
    for (const auto& [log_probability, token] : choices) {
      log_probabilities_.push_back(log_probability);
      tokens_.push_back(token);
    }
  }

  std::unique_ptr<SearchStrategy> search_;
  double beta_;
  std::vector<std::int32_t> prefix_;
  std::vector<std::int32_t> tokens_;
  std::vector<double> log_probabilities_;
};

class ObservedSearch final : public SearchStrategy {
 public:
  ObservedSearch(std::unique_ptr<SearchStrategy> search, std::function<bool(const ObservedToken&)> observer)
      : search_(std::move(search)), observer_(std::move(observer)) {}

  StepNeeds needs(std::int64_t vocabulary) const override { return search_->needs(vocabulary); }
  std::int32_t starts() const override { return search_->starts(); }
  std::int32_t maximum_live() const override { return search_->maximum_live(); }
  std::int32_t results_per_start() const override { return search_->results_per_start(); }
  bool done(const SentenceState& state) override { return search_->done(state); }

  void advance(SentenceState& state, const Candidates& candidates, Advance& result) override {
    if (state.length == static_cast<std::int32_t>(state.sentence.target_prefix.size()) && observe_prefix(state)) {
      for (std::int32_t row = 0; row < static_cast<std::int32_t>(state.live.size()); ++row)
        result.endings.push_back({row, StoppedBy::kLength, 0, 0});
      return;
    }
    search_->advance(state, candidates, result);
    const std::vector<Advance::Ending> endings = std::exchange(result.endings, {});
    const std::vector<Advance::Continuation> continuations = std::exchange(result.continuations, {});
    const bool is_last = state.options->cut_at_maximum && state.length + 1 >= state.maximum_length;
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(state.live.size()); ++row) {
      const std::int32_t origin = state.live[static_cast<std::size_t>(row)].origin;
      for (const Advance::Ending& ending : endings) {
        if (ending.parent != row) continue;
        if (ending.token >= 0) observer_({origin, state.length, ending.token, ending.log_probability, true});
        result.endings.push_back(ending);
      }
      for (const Advance::Continuation& next : continuations) {
        if (next.parent != row) continue;
        if (observer_({origin, state.length, next.token, next.log_probability, is_last}) || is_last)
          result.endings.push_back({row, StoppedBy::kLength, next.log_probability, 1, next.token});
        else
          result.continuations.push_back(next);
      }
    }
  }

 private:
  bool observe_prefix(const SentenceState& state) {
    const std::vector<std::int32_t>& prefix = state.sentence.target_prefix;
    bool stopped = false;
    for (std::size_t step = 0; step < prefix.size() && !stopped; ++step)
      for (const LiveHypothesis& hypothesis : state.live)
        stopped = observer_({hypothesis.origin, static_cast<std::int32_t>(step), prefix[step], 0, false}) || stopped;
    return stopped;
  }

  std::unique_ptr<SearchStrategy> search_;
  std::function<bool(const ObservedToken&)> observer_;
};

}  // namespace

SharedSearch make_token_search(const DecodingOptions& options, const TokenSearch& additions) {
  const bool biased = additions.bias_strength > 0 && !additions.bias.empty();
  if (!additions.sampling && !biased && !additions.observer) return std::make_shared<const SearchPlan>(options);
  return std::make_shared<const SearchPlan>(options, [options, additions, biased] {
    std::unique_ptr<SearchStrategy> strategy;
    if (additions.sampling)
      strategy = std::make_unique<WeightedSampler>(*additions.sampling, options.n_best);
    else
      strategy = make_strategy(options);
    if (biased) strategy = std::make_unique<BiasedSearch>(std::move(strategy), additions.bias_strength, additions.bias);
    if (additions.observer) strategy = std::make_unique<ObservedSearch>(std::move(strategy), additions.observer);
    return strategy;
  });
}

}  // namespace dragoman::decoding
