#include "dragoman/decoding/search_plan.h"

#include <mutex>

#include <dragoman/core/error.h>

namespace dragoman::decoding {
namespace {

std::mutex& factories() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

SearchPlan::SearchPlan(DecodingOptions options) : options_(std::move(options)) {
  decoding::check(options_);
  decoding::make_strategy(options_);
}

SearchPlan::SearchPlan(DecodingOptions options, MakeStrategy make_strategy, MakeProcessors make_further_processors)
    : options_(std::move(options)),
      make_strategy_(std::move(make_strategy)),
      make_further_processors_(std::move(make_further_processors)) {
  decoding::check(options_);
}

SearchPlan SearchPlan::with(DecodingOptions options) const {
  core::require(!make_strategy_, core::ErrorCode::kUnsupported,
                "the search strategy '{}' comes from a plugin, and its options cannot be changed", options_.strategy);
  SearchPlan changed(std::move(options));
  changed.make_further_processors_ = make_further_processors_;
  return changed;
}

DecodingOptions SearchPlan::options_with(const Search& said) const {
  DecodingOptions options = resolve({&said}, options_);
  if (said.suppress_tokens)
    options.suppressed.insert(options.suppressed.begin(), options_.suppressed.begin(), options_.suppressed.end());
  return options;
}

std::unique_ptr<SearchStrategy> SearchPlan::strategy() const {
  if (!make_strategy_) return decoding::make_strategy(options_);
  const std::lock_guard lock(factories());
  return make_strategy_();
}

LogitsProcessors SearchPlan::processors(const nn::SequenceSpec& spec) const {
  LogitsProcessors result = make_processors(options_, spec);
  if (!make_further_processors_) return result;
  const std::lock_guard lock(factories());
  for (auto& processor : make_further_processors_(spec)) result.push_back(std::move(processor));
  return result;
}

void SearchPlan::check(const nn::SequenceSpec& spec) const {
  decoding::check(options_, spec);
  strategy();
  processors(spec);
}

}  // namespace dragoman::decoding
