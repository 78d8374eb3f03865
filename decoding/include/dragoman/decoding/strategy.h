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
  /// The most hypotheses of a sentence that live at a time.
  virtual std::int32_t maximum_live() const = 0;
  /// Decides the next step. `result` arrives empty. At state.length == maximum_length there may be endings only; a
  /// candidate of log probability -infinity (or NaN) must not be used.
  virtual void advance(SentenceState& state, const Candidates& candidates, Advance& result) = 0;
  /// Asked after each step that left hypotheses alive; true drops them.
  virtual bool done(const SentenceState& state) {
    static_cast<void>(state);
    return false;
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
