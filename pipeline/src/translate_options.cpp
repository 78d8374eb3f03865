#include "dragoman/pipeline/translator.h"
#include "stage_settings.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

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

}  // namespace

TranslateOptions read_translate_options(core::OptionReader& options, plugins::Host& host) {
  const plugins::Registry& registry = host.registry();
  auto settings = read_settings(options, translate_table());
  TranslateOptions translate = std::move(settings.options);
  try {
    decoding::check(translate.decoding);
    decoding::require_all_used(translate.decoding);
  } catch (const core::Error& error) {
    core::fail(core::ErrorCode::kBadInput, "{}: {}", options.where(), error.what());
  }
  check(translate.attention, options);
  options.check(translate.unknown_dictionary.empty() || translate.decoding.replace_unknown, "unknown_dictionary",
                "needs replace_unknown");
  const decoding::ShortlistLimits usual;
  const decoding::ShortlistLimits& limits = translate.shortlist.limits;
  options.check(!translate.shortlist.path.empty() || limits.first == usual.first, "shortlist_first",
                "needs a shortlist");
  options.check(!translate.shortlist.path.empty() || limits.best == usual.best, "shortlist_best", "needs a shortlist");
  translate.device = host.device(settings.device);
  const std::string strategy = translate.decoding.strategy;
  const auto& entry = registry.search_strategies().get(strategy);
  const auto make = [make = entry.make, decoding = translate.decoding, own = settings.decoder_options,
                     where = options.where() + ": decoder_options"] {
    core::OptionReader own_options(own, where);
    auto made = make(decoding, own_options);
    own_options.finish();
    return made;
  };
  make();  // what is wrong with the options is better known before a model is loaded
  if (!is_built_in(registry, strategy)) translate.make_strategy = make;
  translate.make_further_processors = make_processors(settings.logits_processors, registry, options.where());
  return translate;
}

}  // namespace dragoman::pipeline
