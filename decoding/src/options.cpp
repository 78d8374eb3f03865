#include "dragoman/decoding/options.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>

namespace dragoman::decoding {
namespace {

template <class Value>
void require_option(bool holds, const char* name, const Value& value, const char* expected) {
  core::require(holds, core::ErrorCode::kInvalidArgument, "decoding: {} is {}; it must be {}", name, value, expected);
}

void check_results(const DecodingOptions& options) {
  require_option(options.beam_size >= 1 && options.beam_size <= 10000, "beam_size", options.beam_size, "in 1 .. 10000");
  require_option(options.n_best >= 1 && options.n_best <= 10000, "n_best", options.n_best, "in 1 .. 10000");
  require_option(options.strategy != "beam" || options.n_best <= options.beam_size, "n_best", options.n_best,
                 "at most beam_size");
  require_option(options.strategy != "greedy" || options.n_best == 1, "n_best", options.n_best,
                 "1 with greedy search, which finds one hypothesis");
  require_option(options.patience > 0 && options.patience <= 1000, "patience", options.patience,
                 "above 0, at most 1000");
  require_option(std::isfinite(options.length_penalty.alpha), "length_penalty.alpha", options.length_penalty.alpha,
                 "a finite number");
  require_option(options.coverage_penalty >= 0 && std::isfinite(options.coverage_penalty), "coverage_penalty",
                 options.coverage_penalty, "0 or more");
}

void check_lengths(const DecodingOptions& options) {
  require_option(options.minimum_length >= 0, "minimum_length", options.minimum_length, "0 or more");
  require_option(options.maximum_length >= 0, "maximum_length", options.maximum_length, "0 (by the factor) or more");
  require_option(options.maximum_length == 0 || options.minimum_length <= options.maximum_length, "minimum_length",
                 options.minimum_length, "at most maximum_length");
  require_option(options.maximum_length_factor >= 0 && options.maximum_length_factor <= 1000, "maximum_length_factor",
                 options.maximum_length_factor, "in 0 .. 1000");
  require_option(options.maximum_length_offset >= 0, "maximum_length_offset", options.maximum_length_offset,
                 "0 or more");
}

void check_edits(const DecodingOptions& options) {
  require_option(options.repetition_penalty > 0 && std::isfinite(options.repetition_penalty), "repetition_penalty",
                 options.repetition_penalty, "above 0");
  require_option(options.no_repeat_ngram >= 0, "no_repeat_ngram", options.no_repeat_ngram, "0 (off) or more");
  for (const auto& sequence : options.suppressed)
    require_option(!sequence.empty(), "suppressed", "an empty sequence", "made of sequences of at least one token");
}

void check_sampling(const SamplingOptions& sampling) {
  require_option(sampling.temperature > 0 && std::isfinite(sampling.temperature), "temperature", sampling.temperature,
                 "above 0");
  require_option(sampling.top_k >= 0, "top_k", sampling.top_k, "0 (off) or more");
  require_option(sampling.top_p > 0 && sampling.top_p <= 1, "top_p", sampling.top_p, "above 0, at most 1");
}

}  // namespace

void check(const DecodingOptions& options) {
  check_results(options);
  check_lengths(options);
  check_edits(options);
  check_sampling(options.sampling);
}

void check(const DecodingOptions& options, const nn::SequenceSpec& spec) {
  check(options);
  for (const auto& sequence : options.suppressed)
    for (const std::int32_t token : sequence)
      require_option(token >= 0 && token < spec.target_vocabulary, "a suppressed token", token,
                     "in the target vocabulary");
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

bool needs_alignment(const DecodingOptions& options) {
  return options.want_alignment || options.replace_unknown || options.coverage_penalty != 0;
}

}  // namespace dragoman::decoding
