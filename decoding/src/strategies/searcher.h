#pragma once

#include "dragoman/decoding/search_plan.h"
#include "dragoman/decoding/step_model.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace dragoman::decoding {

/// A search as one loop carries it out.
struct Searcher {
  SharedSearch search;
  std::unique_ptr<SearchStrategy> strategy;
  LogitsProcessors processors;
  StepNeeds needs;

  /// Error if the search is none for this model, or its strategy makes promises that no loop can work with.
  Searcher(SharedSearch shared_search, const StepModel& model);

  const DecodingOptions& options() const noexcept { return search->options(); }
};

/// The searchers of a loop. Those of searches that nobody else holds any more go when there are many.
class Searchers {
 public:
  Searcher& get(const SharedSearch& search, const StepModel& model);

 private:
  static constexpr std::size_t kKept = 16;

  std::vector<std::unique_ptr<Searcher>> searchers_;
};

}  // namespace dragoman::decoding
