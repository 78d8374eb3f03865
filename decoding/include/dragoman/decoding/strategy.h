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

/// The model's candidates for one sentence: row i belongs to its living hypothesis i, best candidate first.
struct Candidates {
  std::span<const std::int32_t> tokens{};
  std::span<const double> log_probabilities{};
  std::int64_t per_row = 1;
  /// What the strategy wanted besides; rows count from `first_row`.
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

/// What a strategy decides in one step. Living hypotheses that are named by no continuation die.
struct Advance {
  struct Continuation {
    std::int32_t parent;  ///< index into SentenceState::live
    std::int32_t token;
    double log_probability;
  };
  struct Ending {
    std::int32_t parent;
    StoppedBy stopped_by;
    double log_probability;  ///< of the end; not used if cut
    std::int32_t rank;       ///< 0 if it was the best candidate of the step
  };
  /// They become `live`, in this order. All must be allowed by the sentence's maximum_length.
  std::vector<Continuation> continuations{};
  std::vector<Ending> endings{};

  void clear() {
    continuations.clear();
    endings.clear();
  }
};

/// What a strategy asks of every step.
struct StepNeeds {
  std::int64_t candidates = 1;
  double temperature = 1;
  /// Rank candidates with Gumbel noise.
  bool noise = false;
};

/// A search, as a policy for one sentence at a time: batching, refill, lengths, scores and devices are the loop's.
/// Sentences are independent: a decision may depend on the arguments only. An object belongs to one loop, so it may
/// keep scratch memory.
class SearchStrategy {
 public:
  virtual ~SearchStrategy();
  virtual StepNeeds needs(std::int64_t vocabulary) const = 0;
  /// Equal hypotheses that a sentence starts with.
  virtual std::int32_t starts() const { return 1; }
  /// The most hypotheses of a sentence that live at a time; and of this one.
  virtual std::int32_t maximum_live() const = 0;
  virtual std::int32_t maximum_live_of(const Sentence& sentence) const {
    static_cast<void>(sentence);
    return maximum_live();
  }
  /// The most results that may descend from one of the starts; 0: any number.
  virtual std::int32_t results_per_start() const { return 0; }
  /// Whether it meets Sentence::constraints; otherwise sentences that have some are refused.
  virtual bool takes_constraints() const { return false; }
  /// Appends tokens whose log probabilities are wanted in the next step of a living hypothesis, whether or not they
  /// will be among its candidates. In any order.
  virtual void request_scores(const SentenceState& state, const LiveHypothesis& hypothesis,
                              std::vector<std::int32_t>& tokens) const {
    static_cast<void>(state), static_cast<void>(hypothesis), static_cast<void>(tokens);
  }
  /// Decides the next step. `result` arrives empty. At state.length == maximum_length there may be endings only; a
  /// candidate of log probability -infinity (or NaN) must not be used.
  virtual void advance(SentenceState& state, const Candidates& candidates, Advance& result) = 0;
  /// Asked after each step that left hypotheses alive; true drops them.
  virtual bool done(const SentenceState& state) {
    static_cast<void>(state);
    return false;
  }
  /// For devices that go on before the host knows a step's candidates. n > 0 is a promise about the next advance():
  /// it continues with the best n candidates that are not the end, or with the first of these, by the sum of log
  /// probabilities, then the better parent, then the rank; request_scores() requests nothing. 0: it may decide
  /// otherwise.
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

/// The built-in strategy that options.strategy names; another name is an Error{kInvalidArgument} that lists the names.
/// Plugins' strategies come from the plugin host's registry.
std::unique_ptr<SearchStrategy> make_strategy(const DecodingOptions& options);

/// What the random draws of a hypothesis are keyed by, besides the seed and its length.
std::uint64_t random_stream(const SentenceState& state, const LiveHypothesis& hypothesis);

}  // namespace dragoman::decoding
