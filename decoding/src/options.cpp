#include "dragoman/decoding/options.h"

#include "dragoman/decoding/option_table.h"
#include "dragoman/decoding/strategy.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>

namespace dragoman::decoding {
namespace {

/// Beyond every model; what is longer than a target may be means the same.
constexpr double kLongestMinimum = 1e9;

template <class Value>
void require_option(bool holds, const char* name, const Value& value, const char* expected) {
  core::require(holds, core::ErrorCode::kInvalidArgument, "decoding: {} is {}; it must be {}", name, value, expected);
}

/// What the table cannot say of one option by itself.
void check_together(const DecodingOptions& options) {
  require_option(options.strategy != "beam" || options.n_best <= options.beam_size, "n_best", options.n_best,
                 "at most beam_size");
  require_option(options.beam_groups == 1 || options.beam_size % options.beam_groups == 0, "beam_groups",
                 options.beam_groups, "a divisor of beam_size");
  require_option(options.strategy != "greedy" || options.n_best == 1, "n_best", options.n_best,
                 "1 with greedy search, which finds one hypothesis");
  require_option(std::isfinite(options.length_penalty.alpha), "length_penalty.alpha", options.length_penalty.alpha,
                 "a finite number");
  require_option(options.maximum_length == 0 || options.minimum_length <= options.maximum_length, "minimum_length",
                 options.minimum_length, "at most maximum_length");
  for (const auto& sequence : options.suppressed)
    require_option(!sequence.empty(), "suppressed", "an empty sequence", "made of sequences of at least one token");
}

}  // namespace

void check(const DecodingOptions& options) {
  const std::string problem = option_table().problem(options);
  core::require(problem.empty(), core::ErrorCode::kInvalidArgument, "decoding: {}", problem);
  check_together(options);
}

void check(const DecodingOptions& options, const nn::SequenceSpec& spec) {
  check(options);
  for (const auto& sequence : options.suppressed)
    for (const std::int32_t token : sequence)
      require_option(token >= 0 && token < spec.target_vocabulary, "a suppressed token", token,
                     "in the target vocabulary");
}

void require_all_used(const DecodingOptions& options, const DecodingOptions& usual) {
  const auto check_only = [&options](bool changed, std::string_view name, std::string_view search) {
    core::require(!changed || options.strategy == search, core::ErrorCode::kInvalidArgument,
                  "{}: only {} search looks at it, and the search is {}; leave it out, or choose that search", name,
                  search, options.strategy);
  };
  if (std::ranges::find(built_in_strategies(), options.strategy, &BuiltInStrategy::name) == built_in_strategies().end())
    return;
  check_only(options.beam_size != usual.beam_size, "beam_size", "beam");
  check_only(options.patience != usual.patience, "patience", "beam");
  check_only(options.beam_groups != usual.beam_groups, "beam_groups", "beam");
  check_only(options.diversity_strength != usual.diversity_strength, "diversity_strength", "beam");
  require_option(options.diversity_strength == usual.diversity_strength || options.beam_groups > 1,
                 "diversity_strength", options.diversity_strength, "left out where there is one group of beams");
  check_only(options.sampling.temperature != usual.sampling.temperature, "temperature", "sampling");
  check_only(options.sampling.top_k != usual.sampling.top_k, "top_k", "sampling");
  check_only(options.sampling.top_p != usual.sampling.top_p, "top_p", "sampling");
  check_only(options.sampling.seed != usual.sampling.seed, "seed", "sampling");
}

std::int32_t maximum_target_length(const DecodingOptions& options, const nn::SequenceSpec& spec,
                                   std::int32_t source_length) {
  const double wanted = options.maximum_length > 0
                            ? options.maximum_length
                            : std::floor(options.maximum_length_factor * source_length) + options.maximum_length_offset;
  // The decoder also reads the decoder start, so it has one input more than the target has tokens.
  const double model_limit = spec.maximum_target_length - 1;
  return static_cast<std::int32_t>(std::min(wanted, model_limit));
}

std::int32_t minimum_target_length(const DecodingOptions& options, std::int32_t source_length) {
  const double relative = std::floor(options.minimum_length_factor * source_length);
  return std::max(options.minimum_length, static_cast<std::int32_t>(std::min(relative, kLongestMinimum)));
}

bool needs_alignment(const DecodingOptions& options) {
  return options.want_alignment || options.replace_unknown || options.coverage_penalty != 0;
}

}  // namespace dragoman::decoding
