#include "dragoman/decoding/strategy.h"

#include "built_in_strategies.h"

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::decoding {
namespace {

constexpr BuiltInStrategy kBuiltIns[] = {
    {"beam", "beam search: the best of several hypotheses", make_beam},
    {"greedy", "the most probable token at each step", make_greedy},
    {"sampling", "random draws (temperature, top-k, top-p)", make_sampling},
};

}  // namespace

SearchStrategy::~SearchStrategy() = default;

std::span<const BuiltInStrategy> built_in_strategies() {
  return kBuiltIns;
}

std::unique_ptr<SearchStrategy> make_strategy(const DecodingOptions& options) {
  std::vector<std::string_view> names;
  for (const auto& [name, summary, make] : kBuiltIns) {
    if (options.strategy == name) return make(options);
    names.push_back(name);
  }
  core::fail(core::ErrorCode::kInvalidArgument, "unknown search strategy {}; it must be one of: {}",
             core::Quoted{options.strategy}, fmt::join(names, ", "));
}

std::uint64_t random_stream(const SentenceState& state, const LiveHypothesis& hypothesis) {
  return state.sentence.line << 16 | static_cast<std::uint64_t>(hypothesis.origin);
}

}  // namespace dragoman::decoding
