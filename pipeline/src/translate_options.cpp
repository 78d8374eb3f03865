#include "dragoman/pipeline/glossary.h"
#include "dragoman/pipeline/translator.h"
#include "stage_settings.h"
#include "target_terms.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/sizes.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::pipeline {
namespace {

bool is_built_in(const plugins::Registry& registry, const std::string& strategy) {
  const auto* found = registry.search_strategies().find(strategy);
  return found != nullptr && found->provider == plugins::kBuiltin;
}

/// Makes the logits processors that the settings name.
decoding::Search::MakeProcessors make_processors(const core::Json& named, const plugins::Registry& registry,
                                                 const std::string& where) {
  struct Wanted {
    plugins::LogitsProcessorFactory make;
    core::Json own;
    std::string where;
  };
  std::vector<Wanted> wanted;
  for (const auto& [name, own] : named.items())
    wanted.push_back({registry.logits_processors().get(name).make, own,
                      fmt::format("{}: logits_processors: {}", where, core::printable(name, 80))});
  if (wanted.empty()) return {};
  return [wanted](const nn::SequenceSpec& spec) {
    decoding::LogitsProcessors processors;
    for (const Wanted& processor : wanted) {
      core::OptionReader own(processor.own, processor.where);
      processors.push_back(processor.make(spec, own));
      own.finish();
    }
    return processors;
  };
}

/// decoding::require_all_used() for what is of minimum Bayes risk.
void require_mbr_used(const TranslateOptions& translate, const core::OptionReader& options) {
  const MbrOptions usual;
  const MbrOptions& mbr = translate.mbr;
  const auto check_only = [&](bool changed, const char* name, bool looked_at, const char* where) {
    options.check(!changed || looked_at, name, fmt::format("only {} looks at it; leave it out, or choose that", where));
  };
  const bool used = translate.decoding.strategy == kMbr;
  const char* const search = "the decoder mbr";
  check_only(mbr.candidates != usual.candidates, "mbr_candidates", used, search);
  check_only(mbr.utility != usual.utility, "mbr_utility", used, search);
  check_only(mbr.samples != usual.samples, "mbr_samples", used && mbr.candidates == MbrCandidates::kSamples,
             "the decoder mbr with samples as candidates");
}

}  // namespace

TranslateOptions read_translate_options(core::OptionReader& options, plugins::Host& host,
                                        const decoding::DecodingOptions& usual) {
  const plugins::Registry& registry = host.registry();
  auto settings = read_settings(options, translate_table());
  TranslateOptions translate = std::move(settings.options);
  try {
    decoding::check(translate.searched());
    decoding::require_all_used(translate.searched(), usual);
  } catch (const core::Error& error) {
    core::fail(core::ErrorCode::kBadInput, "{}: {}", options.where(), error.what());
  }
  require_mbr_used(translate, options);
  options.check(!translate.attention.kind || translate.ensemble.models.empty(), "attention",
                "shows one model and not several; leave it or ensemble out");
  check(translate.attention, options);
  for (std::string& text : read_suppress_file(settings.suppress_file)) translate.suppress.push_back(std::move(text));
  options.check(translate.unknown_dictionary.empty() || translate.decoding.replace_unknown, "unknown_dictionary",
                "needs replace_unknown");
  const decoding::ShortlistLimits defaults;
  const decoding::ShortlistLimits& limits = translate.shortlist.limits;
  options.check(!translate.shortlist.none() || limits.first == defaults.first, "shortlist_first", "needs a shortlist");
  options.check(!translate.shortlist.none() || limits.best == defaults.best, "shortlist_best", "needs a shortlist");
  tensor::DeviceOptions device{.batch_invariant = settings.batch_invariant};
  if (!settings.memory.empty()) {
    device.memory = core::spelled_size(settings.memory).value_or(0);
    options.check(device.memory > 0, "memory", core::demand_of_size());
  }
  translate.device = host.device(settings.device, device);
  const std::string strategy = translate.searched().strategy;
  const auto& entry = registry.search_strategies().get(strategy);
  const auto make = [make = entry.make, decoding = translate.searched(), own = settings.decoder_options,
                     where = options.where() + ": decoder_options"] {
    core::OptionReader own_options(own, where);
    auto made = make(decoding, own_options);
    own_options.finish();
    return made;
  };
  const auto made = make();  // what is wrong with the options is better known before a model is loaded
  if (!is_built_in(registry, strategy)) translate.make_strategy = make;
  translate.make_further_processors = make_processors(settings.logits_processors, registry, options.where());
  if (!settings.glossary.empty())
    translate.glossary = std::make_shared<const Glossary>(Glossary::read(settings.glossary));
  const bool constrained = translate.glossary != nullptr || !translate.constraints.empty();
  options.check(!constrained || made->takes_constraints(), settings.glossary.empty() ? "constraints" : "glossary",
                "needs a beam search of at least 2 hypotheses in one group");
  return translate;
}

namespace {

TranslateOptions options_of(const std::filesystem::path& model_folder, const core::Json& defaults) {
  const std::string where = (model_folder / formats::ModelFiles::kConfig).string() + ": decoding";
  TranslateOptions options{.decoding = decoding::read_model_defaults(defaults, where)};
  if (defaults.contains(decoding::kShortlistKey))
    options.shortlist = {.path = (model_folder / formats::ModelFiles::kShortlist).string(), .models_own = true};
  return options;
}

}  // namespace

TranslateOptions usual_translate_options(const std::filesystem::path& model_folder) {
  return options_of(model_folder, formats::load_model_config(model_folder).decoding);
}

TranslateOptions usual_translate_options(const std::filesystem::path& model, const plugins::Host& host) {
  return options_of(model, plugins::load_config(model, host.registry()).decoding);
}

}  // namespace dragoman::pipeline
