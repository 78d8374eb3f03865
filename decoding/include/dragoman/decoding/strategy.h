#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/decoding/sentence.h>
#include <dragoman/ops/project_top_k.h>

namespace dragoman::decoding {

/// The model's candidates for one sentence. Row i belongs to living hypothesis i; the best candidate is first.
struct Candidates {
  std::span<const std::int32_t> tokens{};
  std::span<const double> log_probabilities{};
  std::int64_t per_row = 1;
  /// The tokens that the strategy requested with request_scores(); rows count from `first_row`.
  std::span<const ops::ScoredToken> scored{};
  std::span<const double> scored_log_probabilities{};
  std::int32_t first_row = 0;

  std::int64_t rows() const noexcept { return static_cast<std::int64_t>(tokens.size()) / per_row; }
  std::int32_t token(std::int64_t row, std::int64_t rank) const noexcept {
    return tokens[static_cast<std::size_t>(row * per_row + rank)];
  }
  double log_probability(std::int64_t row, std::int64_t rank) const noexcept {
    return log_probabilities[static_cast<std::size_t>(row * per_row + rank)];
  }
};

/// The decision of a strategy in one step. Living hypotheses without a continuation die.
struct Advance {
  struct Continuation {
    std::int32_t parent;  ///< index into SentenceState::live
    std::int32_t token;
    double log_probability;
  };
  struct Ending {
    std::int32_t parent;
    StoppedBy stopped_by;
    double log_probability;  ///< of `token`; unused if the hypothesis was cut without one
    std::int32_t rank;       ///< 0 if the end was the best candidate of the step
    /// The end that was chosen; -1: the model's. For a hypothesis that is cut: the last token that it gets, of that log
    /// probability; -1: none.
    std::int32_t token = -1;
  };
  /// The next `live` hypotheses, in this order. The sentence's maximum_length must allow all of them.
  std::vector<Continuation> continuations{};
  std::vector<Ending> endings{};

  void clear() {
    continuations.clear();
    endings.clear();
  }
};

/// The requirements of a strategy for every step.
struct StepNeeds {
  std::int64_t candidates = 1;
  double temperature = 1;
  /// Whether candidates are ranked with Gumbel noise.
  bool noise = false;
};

/// A search, as a policy for one sentence at a time. The loop handles batching, refill, lengths, scores and devices.
/// Sentences are independent: a decision may depend on the arguments only. An object belongs to one loop, so it may
/// keep scratch memory.
///
///     class Greedy final : public SearchStrategy {
///       StepNeeds needs(std::int64_t) const override { return {.candidates = 1}; }
///       std::int32_t maximum_live() const override { return 1; }
///       void advance(SentenceState& state, const Candidates& best, Advance& result) override {
///         const double log_probability = best.log_probability(0, 0);
///         if (state.is_end(best.token(0, 0)))
///           result.endings.push_back({0, StoppedBy::kEnd, log_probability, 0});
///         else if (state.length == state.maximum_length)
///           result.endings.push_back({0, StoppedBy::kLength, 0, 0});
///         else
///           result.continuations.push_back({0, best.token(0, 0), log_probability});
///       }
///     };
///
/// Plugins register strategies with plugins::Registrar::add().
class SearchStrategy {
 public:
  virtual ~SearchStrategy();
  virtual StepNeeds needs(std::int64_t vocabulary) const = 0;
  /// Returns the number of equal hypotheses that a sentence starts with.
  virtual std::int32_t starts() const { return 1; }
  /// Return the maximum number of living hypotheses: of any sentence, and of this one.
  virtual std::int32_t maximum_live() const = 0;
  virtual std::int32_t maximum_live_of(const Sentence& sentence) const {
    static_cast<void>(sentence);
    return maximum_live();
  }
  /// Returns the maximum number of results that may descend from one initial hypothesis. 0: no limit.
  virtual std::int32_t results_per_start() const { return 0; }
  /// Returns whether the strategy enforces Sentence::constraints. Otherwise sentences with constraints are rejected.
  virtual bool takes_constraints() const { return false; }
  /// Appends tokens whose log probabilities are required in the next step of a living hypothesis, whether or not they
  /// are among its candidates. Any order.
  virtual void request_scores(const SentenceState& state, const LiveHypothesis& hypothesis,
                              std::vector<std::int32_t>& tokens) const {
    static_cast<void>(state), static_cast<void>(hypothesis), static_cast<void>(tokens);
  }
  /// Decides the next step. `result` is empty on entry. At state.length == maximum_length only endings are allowed. A
  /// candidate with log probability -infinity or NaN must not be used.
  virtual void advance(SentenceState& state, const Candidates& candidates, Advance& result) = 0;
  /// Returns whether the sentence is done; true drops the living hypotheses. Called after each step that leaves some.
  virtual bool done(const SentenceState& state) {
    static_cast<void>(state);
    return false;
  }
  /// Supports devices that begin the next step before the host has the candidates of the last one. n > 0 promises that
  /// the next advance() continues with the best n candidates that are not the end, or with the first of these; the
  /// order is the sum of log probabilities, then the better parent, then the rank. request_scores() then requests
  /// nothing. 0: no promise.
  virtual std::int32_t next_rows(const SentenceState& state) const {
    static_cast<void>(state);
    return 0;
  }
};

struct BuiltInStrategy {
  std::string_view name;
  std::string_view summary;  ///< one line for `plugins list`
  std::unique_ptr<SearchStrategy> (*make)(const DecodingOptions&);
};
std::span<const BuiltInStrategy> built_in_strategies();

/// Creates the built-in strategy that options.strategy names. Error{kInvalidArgument} for another name; the message
/// lists the names. Strategies of plugins come from the plugin host's registry.
std::unique_ptr<SearchStrategy> make_strategy(const DecodingOptions& options);

/// Returns the key of a hypothesis's random draws, besides the seed and its length.
std::uint64_t random_stream(const SentenceState& state, const LiveHypothesis& hypothesis);

}  // namespace dragoman::decoding
