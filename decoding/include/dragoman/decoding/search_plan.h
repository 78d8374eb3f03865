#pragma once

#include <functional>
#include <memory>

#include <dragoman/decoding/logits_processor.h>
#include <dragoman/decoding/options.h>
#include <dragoman/decoding/strategy.h>

namespace dragoman::decoding {

/// A search that is ready to run: resolved options, and the factories of a strategy and logits processors for them. It
/// is immutable, and shared by all sentences that are searched alike (SharedSearch), in any number of loops. Each loop
/// makes separate strategy and processor objects.
class SearchPlan {
 public:
  using MakeStrategy = std::function<std::unique_ptr<SearchStrategy>()>;
  using MakeProcessors = std::function<LogitsProcessors(const nn::SequenceSpec&)>;

  /// Uses the built-in strategy that the options name. Error{kInvalidArgument} if there is none, or if the options are
  /// invalid.
  explicit SearchPlan(DecodingOptions options);
  /// Uses any strategy (none: the built-in one), and processors that run after the ones that the options require.
  SearchPlan(DecodingOptions options, MakeStrategy make_strategy, MakeProcessors make_further_processors = {});

  const DecodingOptions& options() const noexcept { return options_; }
  /// Returns this search with other options. Error{kUnsupported} if its strategy is not a built-in one: options cannot
  /// name it.
  SearchPlan with(DecodingOptions options) const;
  /// Returns its options, where the settings in `said` take precedence. The tokens that `said` suppresses are added to
  /// the ones that the plan suppresses.
  DecodingOptions options_with(const Search& said) const;
  /// Make a strategy and logits processors for one loop. A plugin's factories need not be thread-safe: only one is
  /// called at a time in a process.
  std::unique_ptr<SearchStrategy> strategy() const;
  LogitsProcessors processors(const nn::SequenceSpec& spec) const;

  /// Throws an Error if the plan is invalid for models of this spec. It makes a strategy and processors once, so that
  /// the error does not occur in a loop.
  void check(const nn::SequenceSpec& spec) const;

 private:
  DecodingOptions options_;
  MakeStrategy make_strategy_;
  MakeProcessors make_further_processors_;
};

using SharedSearch = std::shared_ptr<const SearchPlan>;

}  // namespace dragoman::decoding
