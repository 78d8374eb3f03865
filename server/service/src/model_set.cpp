#include "model_set.h"

#include "language_codes.h"
#include "request_options.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include <dragoman/core/ascii.h>
#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/model_config.h>
#include <dragoman/pipeline/model_view.h>
#include <dragoman/plugins/host.h>

namespace dragoman::server {
namespace {

constexpr std::string_view kAll = "*";

void check_code(const std::string& side) {
  core::require(side == kAll || !language_key(side).empty(), core::ErrorCode::kInvalidArgument,
                "{} is no code of a language; write one of ISO 639, such as de or zh-Hans", core::quote(side));
}

/// Checks what can be checked without loading the model.
void check(const ServedModel& served) {
  check_code(served.source);
  check_code(served.target);
  core::require(std::filesystem::exists(served.folder), core::ErrorCode::kIo,
                "{}: there is no such model folder; a model is named by PAIR=FOLDER, as in de-en=models/de-en",
                served.folder.string());
}

/// Returns the offered codes of one side of a pair, with the codes of the model's table. If two codes of a
/// table mean the same language, the first is offered under the short code.
std::map<std::string, std::string> offered(const std::string& side, const formats::LanguageTable& table,
                                           const std::string& folder) {
  std::map<std::string, std::string> codes;
  if (side == kAll) {
    core::require(!table.languages.empty(), core::ErrorCode::kBadInput,
                  "{}: the model has no table of languages; name its pair, as in de-en={}", folder, folder);
    for (const auto& [code, tags] : table.languages) {
      const std::string key = language_key(code);
      if (key.empty() || !codes.emplace(key, code).second) codes.emplace(code, code);
    }
    return codes;
  }
  const std::string key = language_key(side);
  if (table.find(side) != nullptr) return {{side, side}};
  for (const auto& [code, tags] : table.languages)
    if (language_key(code) == key) return {{side, code}};
  return {{side, ""}};
}

}  // namespace

ServedModel parse_served_model(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string pair = word.substr(0, equals);
  // A path may contain '=', but a pair contains no '/'.
  if (equals == std::string::npos || pair.find('/') != std::string::npos) {
    core::require(!word.empty(), core::ErrorCode::kInvalidArgument, "must be PAIR=FOLDER, as in de-en=models/de-en");
    return {std::string(kAll), std::string(kAll), word};
  }
  const std::size_t colon = pair.find(':');
  const std::size_t between = colon != std::string::npos ? colon : pair.find('-');
  const bool one = between != std::string::npos &&
                   pair.find(colon != std::string::npos ? ':' : '-', between + 1) == std::string::npos;
  core::require(one, core::ErrorCode::kInvalidArgument,
                "the language pair {} must be two codes with a hyphen between them, or a colon if a code has a hyphen: "
                "de-en=FOLDER, zh-Hans:en=FOLDER",
                core::quote(pair));
  ServedModel model{pair.substr(0, between), pair.substr(between + 1), word.substr(equals + 1)};
  core::require(!model.source.empty() && !model.target.empty() && !model.folder.empty(),
                core::ErrorCode::kInvalidArgument, "{} must be PAIR=FOLDER, as in de-en=models/de-en",
                core::quote(word));
  return model;
}

ModelSet::ModelSet(const ServiceOptions& options) : pivot_(options.pivot) {
  core::require(!options.models.empty(), core::ErrorCode::kInvalidArgument, "there is no model to serve");
  std::set<std::pair<std::string, std::string>> pairs;
  for (const auto& [source, target, folder] : options.models)
    if (source != kAll && target != kAll)
      core::require(pairs.emplace(source, target).second, core::ErrorCode::kInvalidArgument,
                    "the language pair {}-{} has two models; choose one of them", source, target);
  // Before the first model is loaded, which may take minutes.
  for (const ServedModel& served : options.models) check(served);
  for (const ServedModel& served : options.models) served_.push_back(load(served, options));
  list_languages();
  if (pivot_.empty()) return;
  const auto found = find_language(pivot_);
  core::require_option(found.has_value(), "pivot", core::ErrorCode::kInvalidArgument,
                       "pivot: {} is no language of the models", core::quote(pivot_));
  pivot_ = *found;
  list_languages();
}

ModelSet::Served ModelSet::load(const ServedModel& served, const ServiceOptions& options) {
  pipeline::Model model(served.folder, options.model);
  auto translator = std::make_unique<pipeline::Translator>(model, options.translate);
  const formats::LanguageTable& table = model.config().languages;
  const std::string folder = served.folder.string();
  const decoding::DecodingOptions usual = options.translate.resolved(model.view().search_defaults);
  return {.model = model,
          .translator = std::move(translator),
          .sources = offered(served.source, table, folder),
          .targets = offered(served.target, table, folder),
          .strategy = usual.strategy,
          .beam_size = usual.beam_size};
}

void ModelSet::list_languages() {
  std::set<std::string> codes;
  for (const Served& served : served_) {
    for (const auto& [code, own] : served.sources) codes.insert(code);
    for (const auto& [code, own] : served.targets) codes.insert(code);
  }
  keys_.clear();
  for (const std::string& code : codes) keys_.emplace(language_key(code), code);
  languages_.clear();
  for (const std::string& code : codes) {
    Language language{.code = code, .name = language_name(code)};
    for (const std::string& target : codes)
      if (target != code && offers(code, target)) language.targets.push_back(target);
    languages_.push_back(std::move(language));
  }
}

std::optional<std::string> ModelSet::find_language(std::string_view code) const {
  const std::string low = core::ascii_lower(code);
  for (const Language& language : languages_)
    if (core::ascii_lower(language.code) == low) return language.code;
  const std::string key = language_key(low);
  if (key.empty()) return std::nullopt;
  for (const std::string& spelling : {key, without_region(key)})
    if (const auto found = keys_.find(spelling); found != keys_.end()) return found->second;
  return std::nullopt;
}

const ModelSet::Served* ModelSet::find(const std::string& source, const std::string& target) const {
  const auto found = std::ranges::find_if(served_, [&](const Served& served) {
    return served.sources.contains(source) && served.targets.contains(target);
  });
  return found == served_.end() ? nullptr : &*found;
}

std::optional<Leg> ModelSet::leg(const std::string& source, const std::string& target) const {
  const Served* served = find(source, target);
  if (served == nullptr) return std::nullopt;
  return Leg{.translator = served->translator.get(),
             .languages = {served->sources.at(source), served->targets.at(target)},
             .source = source,
             .target = target,
             .strategy = served->strategy,
             .beam_size = served->beam_size,
             .source_tokenizer = served->model.source_tokenizer()};
}

bool ModelSet::offers(const std::string& source, const std::string& target) const {
  if (source == target) return keys_.contains(language_key(source));
  if (find(source, target) != nullptr) return true;
  return !pivot_.empty() && find(source, pivot_) != nullptr && find(pivot_, target) != nullptr;
}

std::vector<Leg> ModelSet::route(const std::string& source, const std::string& target) const {
  core::require(offers(source, target), core::ErrorCode::kUnsupported,
                "{} ({}) is not available as a target language from {} ({})", language_name(target), target,
                language_name(source), source);
  if (source == target) return {};
  if (const auto direct = leg(source, target)) return {*direct};
  return {*leg(source, pivot_), *leg(pivot_, target)};
}

std::vector<ModelInfo> ModelSet::models() const {
  std::vector<ModelInfo> infos;
  const auto name = [](const std::map<std::string, std::string>& codes) {
    return codes.size() == 1 ? codes.begin()->first : std::string(kAll);
  };
  for (const Served& served : served_)
    infos.push_back({.source = name(served.sources),
                     .target = name(served.targets),
                     .type = served.model.config().model_type,
                     .device = tensor::name_of(served.model.device()),
                     .compute = std::string(tensor::name_of(served.model.compute_type()))});
  return infos;
}

std::vector<std::string> ModelSet::decoders() const {
  std::vector<std::string> names;
  for (const auto& registered : served_.front().model.host().registry().search_strategies().all())
    if (registered->entry.name != kServersOwnDecoder) names.push_back(registered->entry.name);
  return names;
}

void ModelSet::require_decoder(const std::string& name) const {
  if (name.empty()) return;
  const std::vector<std::string> known = decoders();
  core::require(std::ranges::find(known, name) != known.end(), core::ErrorCode::kBadInput,
                "options: decoder is {}; it must be one of: {}", core::quote(name), fmt::join(known, ", "));
}

}  // namespace dragoman::server
