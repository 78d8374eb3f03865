#include "deepl_glossaries.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <dragoman/core/ascii.h>

namespace dragoman::server {
namespace {

using core::Json;

/// DeepL's value for an account without a limit.
constexpr std::int64_t kNoLimit = 1'000'000'000'000;

http::Response word_deepl(const Problem& problem) {
  return keyed_error("message", problem);
}

http::Response refuse_deepl(const http::Request&, const http::Refusal& refusal) {
  using Cause = http::Refusal::Cause;
  const bool key = refusal.cause == Cause::kMissingKey || refusal.cause == Cause::kInvalidKey;
  return word_deepl({key ? 403 : refusal.status, refusal.reason, refusal.retry_after});
}

std::string find_deepl_key(const http::Request& request) {
  std::string_view authorization = request.headers.get("Authorization");
  constexpr std::string_view kScheme = "DeepL-Auth-Key ";
  if (authorization.starts_with(kScheme)) return std::string(authorization.substr(kScheme.size()));
  try {
    return Parameters(request).text("auth_key");
  } catch (const BadRequest&) {
    return {};
  }
}

std::string required(const Parameters& parameters, const std::string& name) {
  std::string text = parameters.text(name);
  if (text.empty()) throw BadRequest(fmt::format("Parameter '{}' not specified.", name));
  return text;
}

/// Sentences are always split. Clients also send the values that DeepL has, as texts and as JSON.
void require_split_sentences(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  for (const char* known : {"null", "", "0", "1", "true", "false", "nonewlines", "default"})
    if (text == known) return;
  throw BadRequest("Value for 'split_sentences' not supported.");
}

/// Returns the codes under which DeepL's clients know a target language. They refuse some without a region.
std::vector<std::string> target_codes(const std::string& code) {
  const std::string upper = core::ascii_upper(code);
  if (upper == "EN") return {"EN-US", "EN-GB"};
  if (upper == "PT") return {"PT-BR", "PT-PT"};
  if (upper == "ZH") return {"ZH", "ZH-HANS"};
  if (upper == "NO") return {"NB"};
  return {upper};
}

std::string source_code(const std::string& code) {
  const std::string upper = core::ascii_upper(code);
  return upper == "NO" ? "NB" : upper;
}

class DeepL : public std::enable_shared_from_this<DeepL> {
 public:
  DeepL(TranslationService& service, const DialectOptions& options) : service_(service), options_(options) {}

  void translate(http::Request& request, http::Reply& reply);
  void languages(const http::Request& request, http::Reply& reply) const;
  void usage(const http::Request& request, http::Reply& reply);
  void create_glossary(const http::Request& request, http::Reply& reply);
  void list_glossaries(const http::Request& request, http::Reply& reply) const;
  void show_glossary(const http::Request& request, http::Reply& reply) const;
  void show_entries(const http::Request& request, http::Reply& reply) const;
  void delete_glossary(const http::Request& request, http::Reply& reply);
  void glossary_pairs(http::Reply& reply) const;

 private:
  std::string find_language(const std::string& code, const std::string& name) const;
  StoredGlossary find_glossary(const http::Request& request, const std::string& id) const;
  void apply_glossary(const http::Request& request, const std::string& id, TranslateRequest& translate) const;
  void count(const std::string& key, std::size_t characters);

  TranslationService& service_;
  const DialectOptions options_;
  GlossaryStore glossaries_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> characters_;  ///< by key
};

std::string DeepL::find_language(const std::string& code, const std::string& name) const {
  const std::string low = core::ascii_lower(code);
  for (const std::string& spelling : {low, low == "nb" ? std::string("no") : low})
    if (const auto found = service_.find_language(spelling)) return *found;
  throw BadRequest(fmt::format("Value for '{}' not supported.", name));
}

StoredGlossary DeepL::find_glossary(const http::Request& request, const std::string& id) const {
  auto found = glossaries_.get(request.key, id);
  if (!found) throw BadRequest("Glossary not found.", 404);
  return std::move(*found);
}

void DeepL::apply_glossary(const http::Request& request, const std::string& id, TranslateRequest& translate) const {
  if (translate.source == "auto") throw BadRequest("Parameter 'source_lang' is required with 'glossary_id'.");
  const StoredGlossary glossary = find_glossary(request, id);
  if (glossary.source != translate.source || glossary.target != translate.target)
    throw BadRequest(fmt::format("The glossary is for {} to {}, not for {} to {}.", source_code(glossary.source),
                                 source_code(glossary.target), source_code(translate.source),
                                 source_code(translate.target)));
  translate.glossary = glossary.terms;
}

void DeepL::count(const std::string& key, std::size_t characters) {
  const std::lock_guard lock(mutex_);
  characters_[key] += characters;
}

void DeepL::translate(http::Request& request, http::Reply& reply) {
  const Parameters parameters(request);
  TranslateRequest translate;
  translate.texts = read_texts(parameters.get("text"), "text");
  if (translate.texts.empty()) throw BadRequest("Parameter 'text' not specified.");
  const std::string target = required(parameters, "target_lang");
  const std::string source = parameters.text("source_lang");
  check_limits(translate.texts, request, options_);
  translate.source = source.empty() ? "auto" : find_language(source, "source_lang");
  translate.target = find_language(target, "target_lang");
  const std::string tags = parameters.text("tag_handling");
  if (!tags.empty() && tags != "html" && tags != "xml") throw BadRequest("Value for 'tag_handling' not supported.");
  if (!tags.empty()) translate.format = TextFormat::kHtml;  // which includes XML with inline tags
  const std::string formality = parameters.text("formality");
  if (formality == "more" || formality == "less")
    throw BadRequest("'formality' is not supported for given 'target_lang'.");
  require_split_sentences(parameters.get("split_sentences"));
  if (const std::string id = parameters.text("glossary_id"); !id.empty()) apply_glossary(request, id, translate);
  follow(request, translate);
  const std::string model = parameters.text("model_type");
  std::vector<std::size_t> sizes;
  for (const std::string& text : translate.texts) sizes.push_back(count_characters(text));
  translate_and_answer(
      service_, std::move(translate), reply, word_deepl,
      [self = shared_from_this(), key = request.key, source, sizes, model](TranslateResult& result) {
        Json translations = Json::array();
        for (std::size_t i = 0; i < result.texts.size(); ++i) {
          TranslatedText& text = result.texts[i];
          const std::string language = text.detected ? source_code(text.detected->language) : core::ascii_upper(source);
          Json& translation = translations.emplace_back(Json{{"detected_source_language", language},
                                                             {"text", std::move(text.text)},
                                                             // The client of DeepL fails if it is absent.
                                                             {"billed_characters", sizes[i]}});
          if (!model.empty()) translation["model_type_used"] = "quality_optimized";
          self->count(key, sizes[i]);
        }
        return Json{{"translations", std::move(translations)}};
      });
}

void DeepL::languages(const http::Request& request, http::Reply& reply) const {
  const std::string type = Parameters(request).text("type");
  if (!type.empty() && type != "source" && type != "target") throw BadRequest("Value for 'type' not supported.");
  const bool targets = type == "target";
  const std::vector<Language> languages = service_.languages();
  Json list = Json::array();
  for (const Language& language : languages) {
    const bool is_target = std::ranges::any_of(languages, [&](const Language& other) {
      return std::ranges::find(other.targets, language.code) != other.targets.end();
    });
    if (targets ? !is_target : language.targets.empty()) continue;
    if (!targets) {
      list.push_back({{"language", source_code(language.code)}, {"name", language.name}});
      continue;
    }
    for (const std::string& code : target_codes(language.code))
      list.push_back(
          {{"language", code}, {"name", TranslationService::language_name(code)}, {"supports_formality", false}});
  }
  reply.send(json_answer(list));
}

void DeepL::usage(const http::Request& request, http::Reply& reply) {
  const std::lock_guard lock(mutex_);
  reply.send(json_answer({{"character_count", characters_[request.key]}, {"character_limit", kNoLimit}}));
}

Json glossary_json(const StoredGlossary& glossary) {
  const auto created = std::chrono::system_clock::to_time_t(glossary.created);
  return {{"glossary_id", glossary.id},
          {"ready", true},
          {"name", glossary.name},
          {"source_lang", core::ascii_lower(glossary.source)},
          {"target_lang", core::ascii_lower(glossary.target)},
          {"creation_time", fmt::format("{:%Y-%m-%dT%H:%M:%S}.000Z", fmt::gmtime(created))},
          {"entry_count", glossary.entries.size()}};
}

void DeepL::create_glossary(const http::Request& request, http::Reply& reply) {
  const Parameters parameters(request);
  StoredGlossary glossary;
  glossary.owner = request.key;
  glossary.name = required(parameters, "name");
  glossary.source = find_language(required(parameters, "source_lang"), "source_lang");
  glossary.target = find_language(required(parameters, "target_lang"), "target_lang");
  if (!service_.offers(glossary.source, glossary.target))
    throw BadRequest("The pair of 'source_lang' and 'target_lang' is not supported.");
  glossary.entries = parse_entries(required(parameters, "entries"), required(parameters, "entries_format"));
  std::vector<GlossaryTerm> terms;
  for (const auto& [source, target] : glossary.entries) terms.push_back({.source = source, .targets = {target}});
  glossary.terms = make_terms(std::move(terms));
  glossary.created = std::chrono::system_clock::now();
  reply.send(json_answer(glossary_json(glossaries_.put(std::move(glossary))), 201));
}

void DeepL::list_glossaries(const http::Request& request, http::Reply& reply) const {
  Json list = Json::array();
  for (const StoredGlossary& glossary : glossaries_.list(request.key)) list.push_back(glossary_json(glossary));
  reply.send(json_answer({{"glossaries", list}}));
}

void DeepL::show_glossary(const http::Request& request, http::Reply& reply) const {
  reply.send(json_answer(glossary_json(find_glossary(request, request.parameter))));
}

void DeepL::show_entries(const http::Request& request, http::Reply& reply) const {
  const StoredGlossary glossary = find_glossary(request, request.parameter);
  reply.send(plain_answer(200, "text/tab-separated-values; charset=utf-8", to_tsv(glossary.entries)));
}

void DeepL::delete_glossary(const http::Request& request, http::Reply& reply) {
  if (!glossaries_.remove(request.key, request.parameter)) throw BadRequest("Glossary not found.", 404);
  reply.send(plain_answer(204, "", ""));
}

void DeepL::glossary_pairs(http::Reply& reply) const {
  Json pairs = Json::array();
  for (const Language& language : service_.languages())
    for (const std::string& target : language.targets)
      pairs.push_back({{"source_lang", core::ascii_lower(language.code)}, {"target_lang", core::ascii_lower(target)}});
  reply.send(json_answer({{"supported_languages", pairs}}));
}

}  // namespace

void add_deepl_routes(http::Router& router, TranslationService& service, const DialectOptions& options) {
  const auto dialect = std::make_shared<DeepL>(service, options);
  const auto add = [&](const std::string& method, const std::string& pattern,
                       std::function<void(DeepL&, http::Request&, http::Reply&)> answer) {
    http::Route made = route(
        method, pattern,
        guarded(word_deepl, [dialect, answer](http::Request& in, http::Reply& out) { answer(*dialect, in, out); }));
    made.find_key = find_deepl_key;
    made.refuse = refuse_deepl;
    router.add(std::move(made));
  };
  using http::Reply;
  using http::Request;
  add("POST", "/v2/translate", [](DeepL& deepl, Request& in, Reply& out) { deepl.translate(in, out); });
  for (const char* method : {"GET", "POST"}) {
    add(method, "/v2/languages", [](DeepL& deepl, Request& in, Reply& out) { deepl.languages(in, out); });
    add(method, "/v2/usage", [](DeepL& deepl, Request& in, Reply& out) { deepl.usage(in, out); });
  }
  add("POST", "/v2/glossaries", [](DeepL& deepl, Request& in, Reply& out) { deepl.create_glossary(in, out); });
  add("GET", "/v2/glossaries", [](DeepL& deepl, Request& in, Reply& out) { deepl.list_glossaries(in, out); });
  add("GET", "/v2/glossaries/{name}", [](DeepL& deepl, Request& in, Reply& out) { deepl.show_glossary(in, out); });
  add("GET", "/v2/glossaries/{name}/entries",
      [](DeepL& deepl, Request& in, Reply& out) { deepl.show_entries(in, out); });
  add("DELETE", "/v2/glossaries/{name}", [](DeepL& deepl, Request& in, Reply& out) { deepl.delete_glossary(in, out); });
  add("GET", "/v2/glossary-language-pairs", [](DeepL& deepl, Request&, Reply& out) { deepl.glossary_pairs(out); });
}

}  // namespace dragoman::server
