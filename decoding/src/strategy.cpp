#include "dragoman/decoding/strategy.h"

#include <dragoman/core/error.h>

namespace dragoman::decoding {

SearchStrategy::~SearchStrategy() = default;

std::unique_ptr<SearchStrategy> make_strategy(const DecodingOptions& options) {
  if (options.strategy == "beam") return make_beam(options);
  if (options.strategy == "greedy") return make_greedy(options);
  if (options.strategy == "sampling") return make_sampling(options);
  core::fail(core::ErrorCode::kInvalidArgument,
             "unknown search strategy '{}'; it must be one of: beam, greedy, sampling", options.strategy);
}

std::uint64_t random_stream(const SentenceState& state, const LiveHypothesis& hypothesis) {
  return state.sentence.line << 16 | static_cast<std::uint64_t>(hypothesis.origin);
}

}  // namespace dragoman::decoding
