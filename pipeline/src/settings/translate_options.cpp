#include "dragoman/pipeline/translator.h"
#include "pipeline/glossary.h"
#include "stage_settings.h"
#include "translation/record_translator.h"
#include "translation/target_terms.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/sizes.h>
#include <dragoman/pipeline/logits_processors.h>

namespace dragoman::pipeline {
namespace {

bool is_built_in(const plugins::Registry& registry, const std::string& strategy) {
  const auto* found = registry.search_strategies().find(strategy);
  return found != nullptr && found->provider == plugins::kBuiltin;
}

}  // namespace

decoding::SearchPlan::MakeProcessors make_processors(const core::Json& named, const plugins::Registry& registry,
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

TranslateStageOptions prepare_translate_options(TranslateSettings settings, const core::OptionReader& options,
                                                plugins::Host& host, const decoding::Search& model_defaults) {
  const plugins::Registry& registry = host.registry();
  TranslateOptions translate = std::move(settings.options);
  decoding::DecodingOptions searched;
  try {
    searched = translate.checked_search(model_defaults);
    require_text_for(searched, translate.input_pieces, translate.output_pieces);
    require_possible_markup(translate.markup, translate.input_pieces, translate.output_pieces, translate.attention);
  } catch (const core::Error& error) {
    core::fail_within(options.where(), error, core::ErrorCode::kBadInput);
  }
  options.check(!translate.attention.kind || settings.ensemble.models.empty(), "attention",
                "shows one model and not several; leave it or `ensemble` out");
  options.check(translate.markup == Markup::kNone || settings.ensemble.models.empty(), "markup",
                "places tags by the attention of one model and not of several; leave it or `ensemble` out");
  check(translate.attention, options);
  for (std::string& text : read_suppress_file(settings.suppress_file)) translate.suppress.push_back(std::move(text));
  options.check(translate.unknown_dictionary.empty() || searched.replace_unknown, "unknown_dictionary",
                "needs `replace_unknown`");
  const decoding::ShortlistLimits defaults;
  const decoding::ShortlistLimits& limits = translate.shortlist.limits;
  options.check(!translate.shortlist.none() || limits.first == defaults.first, "shortlist_first",
                "needs a `shortlist`");
  options.check(!translate.shortlist.none() || limits.best == defaults.best, "shortlist_best", "needs a `shortlist`");
  tensor::DeviceOptions device{.batch_invariant = settings.batch_invariant};
  if (!settings.memory.empty()) {
    device.memory = core::spelled_size(settings.memory).value_or(0);
    options.check(device.memory > 0, "memory", core::demand_of_size());
  }
  settings.machine.device = host.device(settings.device, device);
  settings.machine.compute = settings.compute;
  const std::string& strategy = searched.strategy;
  const auto& entry = registry.search_strategies().get(strategy);
  const auto make = [make = entry.make, decoding = searched, own = settings.decoder_options,
                     where = options.where() + ": decoder_options"] {
    core::OptionReader own_options(own, where);
    auto made = make(decoding, own_options);
    own_options.finish();
    return made;
  };
  const auto made = make();  // report invalid options before a model is loaded
  if (!is_built_in(registry, strategy)) translate.make_strategy = make;
  translate.make_further_processors = make_processors(settings.logits_processors, registry, options.where());
  if (!settings.glossary.empty())
    translate.glossary = std::make_shared<const Glossary>(Glossary::read(settings.glossary));
  const bool constrained = translate.glossary != nullptr || !translate.constraints.empty();
  options.check(!constrained || made->takes_constraints(), settings.glossary.empty() ? "constraints" : "glossary",
                "needs a beam search of at least 2 hypotheses in one group");
  return {.model = std::move(settings.machine),
          .ensemble = std::move(settings.ensemble),
          .translate = std::move(translate)};
}

}  // namespace dragoman::pipeline
