#pragma once

#include "dragoman/decoding/search_plan.h"
#include "dragoman/decoding/step_model.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace dragoman::decoding {

/// A search in the form in which one loop runs it.
struct Searcher {
  SharedSearch search;
  std::unique_ptr<SearchStrategy> strategy;
  LogitsProcessors processors;
  StepNeeds needs;

  /// Error if the search is invalid for this model, or if its strategy makes promises that no loop can fulfil.
  Searcher(SharedSearch shared_search, const StepModel& model);

  const DecodingOptions& options() const noexcept { return search->options(); }
};

/// The searchers of a loop. If there are many, searchers whose search has no other owner are dropped.
class Searchers {
 public:
  Searcher& get(const SharedSearch& search, const StepModel& model);

 private:
  static constexpr std::size_t kKept = 16;

  std::vector<std::unique_ptr<Searcher>> searchers_;
};

}  // namespace dragoman::decoding
