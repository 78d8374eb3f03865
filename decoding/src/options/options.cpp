#include "dragoman/decoding/options.h"

#include "dragoman/decoding/option_table.h"
#include "dragoman/decoding/strategy.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/quote.h>

namespace dragoman::decoding {
namespace {

/// Larger than the limit of every model. A minimum above the longest target has the same effect.
constexpr double kLongestMinimum = 1e9;

template <class Value>
void require_value(bool holds, const char* name, const Value& value, const char* expected) {
  core::require_option(holds, name, core::ErrorCode::kInvalidArgument, "{} is {}; it must be {}", name, value,
                       expected);
}

/// Calls visit(member of Search, member of DecodingOptions) for each option of the same type in both.
template <class Said, class Options, class Visit>
void visit_members(Said& said, Options& options, const Visit& visit) {
  visit(said.decoder, options.strategy);
  visit(said.beam_size, options.beam_size);
  visit(said.n_best, options.n_best);
  visit(said.coverage_penalty, options.coverage_penalty);
  visit(said.patience, options.patience);
  visit(said.beam_groups, options.beam_groups);
  visit(said.diversity_strength, options.diversity_strength);
  visit(said.minimum_length, options.minimum_length);
  visit(said.minimum_length_factor, options.minimum_length_factor);
  visit(said.maximum_length, options.maximum_length);
  visit(said.maximum_length_factor, options.maximum_length_factor);
  visit(said.maximum_length_offset, options.maximum_length_offset);
  visit(said.repetition_penalty, options.repetition_penalty);
  visit(said.no_repeat_ngram, options.no_repeat_ngram);
  visit(said.suppress_tokens, options.suppressed);
  visit(said.suppress_unknown, options.suppress_unknown);
  visit(said.replace_unknown, options.replace_unknown);
  visit(said.alignment, options.want_alignment);
  visit(said.temperature, options.sampling.temperature);
  visit(said.top_k, options.sampling.top_k);
  visit(said.top_p, options.sampling.top_p);
  visit(said.seed, options.sampling.seed);
  visit(said.mbr_samples, options.mbr.samples);
  visit(said.cut_at_maximum, options.cut_at_maximum);
  visit(said.end_tokens, options.ends);
}

template <class Choices>
auto value_of(const Choices& choices, std::string_view option, std::string_view name) {
  for (const auto& [text, value] : choices)
    if (text == name) return value;
  std::string all;
  for (std::size_t i = 0; i < choices.size(); ++i)
    all.append(i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ").append(choices[i].first);
  core::fail_option(option, core::ErrorCode::kInvalidArgument, "{} is {}; it must be {}", option, core::quote(name),
                    all);
}

/// Checks combinations of options; the table checks each option alone.
void check_together(const DecodingOptions& options) {
  const auto most = std::max<std::int64_t>(options.beam_size, std::llround(options.beam_size * options.patience));
  require_value(options.strategy != "beam" || options.n_best <= most, "n_best", options.n_best,
                "at most `beam_size`, or `beam_size` times `patience`");
  require_value(options.beam_groups == 1 || options.beam_size % options.beam_groups == 0, "beam_groups",
                options.beam_groups, "a divisor of `beam_size`");
  require_value(options.strategy != "greedy" || options.n_best == 1, "n_best", options.n_best,
                "1 with greedy search, which finds one hypothesis");
  require_value(std::isfinite(options.length_penalty.alpha), "alpha", options.length_penalty.alpha, "a finite number");
  require_value(options.maximum_length == 0 || options.minimum_length <= options.maximum_length, "minimum_length",
                options.minimum_length, "at most `maximum_length`");
  for (const auto& sequence : options.suppressed)
    require_value(!sequence.empty(), "suppress_tokens", "an empty sequence", "made of sequences of at least one token");
}

}  // namespace

Search merged(Search said, const Search& behind) {
  search_table().complete(said, behind);
  return said;
}

DecodingOptions resolve(std::initializer_list<const Search*> said, const DecodingOptions& program) {
  Search all;
  for (const Search* next : said) all = merged(std::move(all), *next);
  DecodingOptions options = program;
  visit_members(all, options, [](const auto& value, auto& resolved) {
    if (value) resolved = *value;
  });
  if (all.mbr_candidates) options.mbr.candidates = value_of(kMbrCandidates, "mbr_candidates", *all.mbr_candidates);
  if (all.mbr_utility) options.mbr.utility = value_of(kMbrUtilities, "mbr_utility", *all.mbr_utility);
  if (all.prefix_role) options.prefix_role = value_of(kPrefixRoles, "prefix_role", *all.prefix_role);
  if (all.length_penalty) {
    core::require_option(
        std::ranges::find(LengthPenalty::kPresets, *all.length_penalty) != LengthPenalty::kPresets.end(),
        "length_penalty", core::ErrorCode::kInvalidArgument, "length_penalty is {}; it must be one of: {}",
        core::quote(*all.length_penalty), fmt::join(LengthPenalty::kPresets, ", "));
    options.length_penalty = LengthPenalty::preset(*all.length_penalty, all.alpha);
  } else if (all.alpha) {
    options.length_penalty = LengthPenalty::preset(options.length_penalty.name, all.alpha);
    options.length_penalty.word_penalty = program.length_penalty.word_penalty;
  }
  check(options);
  return options;
}

Search search_of(const DecodingOptions& options) {
  Search search{.length_penalty = std::string(options.length_penalty.name),
                .alpha = options.length_penalty.alpha,
                .mbr_candidates = name_of_choice(kMbrCandidates, options.mbr.candidates),
                .mbr_utility = name_of_choice(kMbrUtilities, options.mbr.utility),
                .prefix_role = name_of_choice(kPrefixRoles, options.prefix_role)};
  visit_members(search, options, [](auto& value, const auto& resolved) { value = resolved; });
  return search;
}

void check(const DecodingOptions& options) {
  search_table().require_in_range(search_of(options));
  check_together(options);
}

void check(const DecodingOptions& options, const nn::SequenceSpec& spec) {
  check(options);
  for (const auto& sequence : options.suppressed)
    for (const std::int32_t token : sequence)
      core::require_option(token >= 0 && token < spec.target_vocabulary, "suppress_tokens",
                           core::ErrorCode::kInvalidArgument,
                           "suppress_tokens holds {}; it must hold ids from 0 to {}, the target vocabulary", token,
                           spec.target_vocabulary - 1);
  for (const std::int32_t token : options.ends)
    core::require_option(token >= 0 && token < spec.target_vocabulary, "end_tokens", core::ErrorCode::kInvalidArgument,
                         "end_tokens holds {}; it must hold ids from 0 to {}, the target vocabulary", token,
                         spec.target_vocabulary - 1);
}

void require_all_used(const DecodingOptions& options, const DecodingOptions& usual) {
  const auto check_only = [&options](bool changed, std::string_view name, std::string_view search) {
    core::require_option(!changed || options.strategy == search, name, core::ErrorCode::kInvalidArgument,
                         "{}: only {} search looks at it, and the search is {}; leave it out, or choose that search",
                         name, search, options.strategy);
  };
  if (std::ranges::find(built_in_strategies(), options.strategy, &BuiltInStrategy::name) == built_in_strategies().end())
    return;
  check_only(options.beam_size != usual.beam_size, "beam_size", "beam");
  check_only(options.patience != usual.patience, "patience", "beam");
  check_only(options.beam_groups != usual.beam_groups, "beam_groups", "beam");
  check_only(options.diversity_strength != usual.diversity_strength, "diversity_strength", "beam");
  require_value(options.diversity_strength == usual.diversity_strength || options.beam_groups > 1, "diversity_strength",
                options.diversity_strength, "left out where there is one group of beams");
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
  // The decoder also reads the decoder start, so it has one input more than the target has tokens. It does not read the
  // token that cuts a target.
  const double model_limit = spec.maximum_target_length - (options.cut_at_maximum ? 0 : 1);
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
