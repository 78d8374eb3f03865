#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <dragoman/collective/collective.h>

namespace dragoman::collective::testing {

/// Calls `body` for each rank of a job, in a thread of its own, and returns the message of the Error that each threw;
/// empty if none. A rank whose body returns without close() has died, as far as the others can tell.
inline std::vector<std::string> run_ranks(int size, const std::function<void(Collective&)>& body) {
  std::vector<std::unique_ptr<Collective>> ranks = make_threads(size);
  std::vector<std::string> errors(ranks.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      threads.emplace_back([&, r] {
        try {
          body(*ranks[r]);
        } catch (const core::Error& error) {
          errors[r] = error.what();
        }
        ranks[r].reset();
      });
    }
  }
  return errors;
}

}  // namespace dragoman::collective::testing
