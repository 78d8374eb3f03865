#include "dragoman/pipeline/translator.h"

#include <optional>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/options.h>
#include <dragoman/core/parallel.h>

namespace dragoman::pipeline {
namespace {

using decoding::DecodingOptions;

decoding::LengthPenalty read_length_penalty(core::OptionReader& options) {
  const auto preset = options.get("length_penalty", "fairseq");
  std::optional<double> alpha;
  if (options.has("alpha")) alpha = options.get("alpha", 1.0);
  return decoding::LengthPenalty::preset(preset, alpha);
}

decoding::SamplingOptions read_sampling(core::OptionReader& options) {
  decoding::SamplingOptions sampling;
  sampling.temperature = options.get("temperature", sampling.temperature);
  sampling.top_k = options.get("top_k", sampling.top_k);
  sampling.top_p = options.get("top_p", sampling.top_p);
  sampling.seed = options.get("seed", sampling.seed);
  return sampling;
}

DecodingOptions read_decoding(core::OptionReader& options) {
  DecodingOptions decoding;
  decoding.strategy = options.get("decoder", decoding.strategy);
  decoding.beam_size = options.get("beam_size", decoding.beam_size);
  decoding.n_best = options.get("n_best", decoding.n_best);
  decoding.length_penalty = read_length_penalty(options);
  decoding.coverage_penalty = options.get("coverage_penalty", decoding.coverage_penalty);
  decoding.patience = options.get("patience", decoding.patience);
  decoding.minimum_length = options.get("minimum_length", decoding.minimum_length);
  decoding.maximum_length = options.get("maximum_length", decoding.maximum_length);
  decoding.maximum_length_factor = options.get("maximum_length_factor", decoding.maximum_length_factor);
  decoding.maximum_length_offset = options.get("maximum_length_offset", decoding.maximum_length_offset);
  decoding.repetition_penalty = options.get("repetition_penalty", decoding.repetition_penalty);
  decoding.no_repeat_ngram = options.get("no_repeat_ngram", decoding.no_repeat_ngram);
  decoding.suppress_unknown = options.get("suppress_unknown", decoding.suppress_unknown);
  decoding.replace_unknown = options.get("replace_unknown", decoding.replace_unknown);
  decoding.want_alignment = options.get("alignment", decoding.want_alignment);
  decoding.sampling = read_sampling(options);
  return decoding;
}

bool is_built_in(const plugins::Registry& registry, const std::string& strategy) {
  const auto* found = registry.search_strategies().find(strategy);
  return found != nullptr && found->provider == plugins::kBuiltin;
}

}  // namespace

TranslateOptions read_translate_options(core::OptionReader& options, plugins::Host& host) {
  const plugins::Registry& registry = host.registry();
  TranslateOptions translate;
  translate.decoding = read_decoding(options);
  try {
    decoding::check(translate.decoding);
  } catch (const core::Error& error) {
    core::fail(core::ErrorCode::kBadInput, "{}: {}", options.where(), error.what());
  }
  translate.threads = options.get("threads", 0);
  options.check(translate.threads >= 0 && translate.threads <= core::kMostThreads, "threads",
                fmt::format("must be from 0 to {}", core::kMostThreads));
  translate.limits.maximum_encoder_tokens = options.get("batch_tokens", translate.limits.maximum_encoder_tokens);
  translate.limits.maximum_rows = options.get("rows", translate.limits.maximum_rows);
  options.check(translate.limits.maximum_encoder_tokens > 0, "batch_tokens", "must be at least 1");
  options.check(translate.limits.maximum_rows > 0, "rows", "must be at least 1");
  translate.device = host.device(options.get("device", "cpu"));
  translate.details = options.get("details", false);
  translate.allow_non_finite = options.get("allow_non_finite", false);
  if (const std::string compute = options.get("compute", "fp32"); compute != "fp32")
    core::fail(core::ErrorCode::kUnsupported, "{}: compute: '{}' is not available in this version; use fp32",
               options.where(), compute);
  const std::string strategy = translate.decoding.strategy;
  const auto& entry = registry.search_strategies().get(strategy);
  if (!is_built_in(registry, strategy)) {
    translate.make_strategy = [make = entry.make, decoding = translate.decoding] {
      const core::Json none = core::Json::object();
      core::OptionReader no_options(none, "search strategy");
      return make(decoding, no_options);
    };
  }
  return translate;
}

}  // namespace dragoman::pipeline
