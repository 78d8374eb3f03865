#pragma once

#include <functional>
#include <memory>

#include <dragoman/decoding/logits_processor.h>
#include <dragoman/decoding/options.h>
#include <dragoman/decoding/strategy.h>

namespace dragoman::decoding {

/// How sentences are to be searched: options, and what makes a strategy and logits processors for them. Immutable, and
/// shared by all sentences that want the same (SharedSearch), in any number of loops: each loop makes objects of its
/// own.
class Search {
 public:
  using MakeStrategy = std::function<std::unique_ptr<SearchStrategy>()>;
  using MakeProcessors = std::function<LogitsProcessors(const nn::SequenceSpec&)>;

  /// The built-in strategy that the options name; Error{kInvalidArgument} if there is none or the options make no
  /// sense.
  explicit Search(DecodingOptions options);
  /// With any strategy (none: the built-in one), and processors that run after those that the options ask for.
  Search(DecodingOptions options, MakeStrategy make_strategy, MakeProcessors make_further_processors = {});

  const DecodingOptions& options() const noexcept { return options_; }
  /// The same search under other options. Error{kUnsupported} if its strategy is not a built-in one, which options
  /// name.
  Search with(DecodingOptions options) const;
  /// Both for one loop. Factories of plugins need not bear more than one thread: in this process one is called at a
  /// time.
  std::unique_ptr<SearchStrategy> strategy() const;
  LogitsProcessors processors(const nn::SequenceSpec& spec) const;

  /// Error if it makes no sense for models of this spec: makes both once, so that it need not be found out by a loop.
  void check(const nn::SequenceSpec& spec) const;

 private:
  DecodingOptions options_;
  MakeStrategy make_strategy_;
  MakeProcessors make_further_processors_;
};

using SharedSearch = std::shared_ptr<const Search>;

}  // namespace dragoman::decoding
