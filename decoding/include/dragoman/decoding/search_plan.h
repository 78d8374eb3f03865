#pragma once

#include <functional>
#include <memory>

#include <dragoman/decoding/logits_processor.h>
#include <dragoman/decoding/options.h>
#include <dragoman/decoding/strategy.h>

namespace dragoman::decoding {

/// A search that is ready to run: resolved options, and the factories of a strategy and logits processors for them.
/// Immutable. All sentences with the same search share one plan (SharedSearch), in any number of loops. Each loop
/// creates its own strategy and processors.
///
///     const SharedSearch search = std::make_shared<const SearchPlan>(DecodingOptions{.beam_size = 5});
class SearchPlan {
 public:
  using MakeStrategy = std::function<std::unique_ptr<SearchStrategy>()>;
  using MakeProcessors = std::function<LogitsProcessors(const nn::SequenceSpec&)>;

  /// Uses the built-in strategy that the options name. Error{kInvalidArgument} if no such strategy exists, or if the
  /// options are invalid.
  explicit SearchPlan(DecodingOptions options);
  /// Uses any strategy (empty: the built-in one), and processors that run after those that the options require.
  SearchPlan(DecodingOptions options, MakeStrategy make_strategy, MakeProcessors make_further_processors = {});

  const DecodingOptions& options() const noexcept { return options_; }
  /// Returns this search with other options. Error{kUnsupported} if its strategy is not built in, because options
  /// cannot name it.
  SearchPlan with(DecodingOptions options) const;
  /// Returns the options of this plan, overridden by the settings in `said`. Tokens that `said` suppresses are added to
  /// those that the plan suppresses.
  DecodingOptions options_with(const Search& said) const;
  /// Create a strategy and logits processors for one loop. The factories of plugins need not be thread-safe: a process
  /// calls one at a time.
  std::unique_ptr<SearchStrategy> strategy() const;
  LogitsProcessors processors(const nn::SequenceSpec& spec) const;

  /// Throws an Error if the plan is invalid for models of this spec. It creates a strategy and processors once, so that
  /// the error does not occur in a loop.
  void check(const nn::SequenceSpec& spec) const;

 private:
  DecodingOptions options_;
  MakeStrategy make_strategy_;
  MakeProcessors make_further_processors_;
};

using SharedSearch = std::shared_ptr<const SearchPlan>;

}  // namespace dragoman::decoding
