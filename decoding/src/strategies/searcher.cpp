#include "searcher.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>

namespace dragoman::decoding {
namespace {

using core::ErrorCode;

/// Checks the promises of a strategy, which may be a plugin's.
void check_promises(const Searcher& searcher, std::int64_t vocabulary) {
  const SearchStrategy& strategy = *searcher.strategy;
  const StepNeeds& needs = searcher.needs;
  core::require(strategy.maximum_live() >= 1, ErrorCode::kInternal, "the search strategy keeps at most {} hypotheses",
                strategy.maximum_live());
  core::require(strategy.starts() >= 1 && strategy.starts() <= strategy.maximum_live(), ErrorCode::kInternal,
                "the search strategy starts with {} hypotheses; it must be from 1 to the {} that it keeps at most",
                strategy.starts(), strategy.maximum_live());
  core::require(needs.candidates >= 1 && needs.candidates <= vocabulary, ErrorCode::kInternal,
                "the search strategy wants {} candidates of a vocabulary of {}", needs.candidates, vocabulary);
  core::require(needs.temperature > 0 && std::isfinite(needs.temperature), ErrorCode::kInternal,
                "the search strategy wants a temperature of {}", needs.temperature);
}

}  // namespace

Searcher::Searcher(SharedSearch shared_search, const StepModel& model) : search(std::move(shared_search)) {
  const nn::SequenceSpec& spec = model.spec();
  check(options(), spec);
  core::require(
      !needs_alignment(options()) || model.has_alignment(), ErrorCode::kUnsupported,
      "decoding: alignments (want_alignment, replace_unknown, coverage_penalty) were asked for, but this model has no "
      "attention to take them from");
  strategy = search->strategy();
  core::require(strategy != nullptr, ErrorCode::kInvalidArgument, "decoding: there is no search strategy");
  processors = search->processors(spec);
  needs = strategy->needs(spec.target_vocabulary);
  check_promises(*this, spec.target_vocabulary);
}

Searcher& Searchers::get(const SharedSearch& search, const StepModel& model) {
  const auto found = std::ranges::find(searchers_, search, [](const auto& searcher) { return searcher->search; });
  if (found != searchers_.end()) return **found;
  if (searchers_.size() >= kKept)
    std::erase_if(searchers_, [](const auto& searcher) { return searcher->search.use_count() == 1; });
  return *searchers_.emplace_back(std::make_unique<Searcher>(search, model));
}

}  // namespace dragoman::decoding
