#include "v1_request.h"

#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>

namespace dragoman::server {
namespace {

using core::Json;
using core::OptionReader;

/// A key whose value may have several types.
core::OptionTable<V1Request>::Read read_tree(const char* key, core::SharedJson V1Request::*member) {
  return [key, member](OptionReader& reader, V1Request& asked) {
    if (reader.has(key)) asked.*member = core::SharedJson(reader.subtree(key));
  };
}

core::OptionTable<V1Request>::Read read_list(const char* key, std::vector<std::string> V1Request::*member) {
  return [key, member](OptionReader& reader, V1Request& asked) {
    if (reader.has(key)) asked.*member = read_texts(reader.subtree(key), key);
  };
}

core::OptionTable<V1Request> make_table() {
  const std::int32_t most_translations = ServiceOptions{}.max_hypotheses;
  using V1 = V1Request;
  core::OptionTable<V1> table;
  table
      .custom({{.name = "text", .placeholder = "TEXT", .help = "the text, or a list of texts", .repeated = true}},
              read_tree("text", &V1::text))
      .text("source", &V1::source, "CODE", "language of the texts, or auto: detected for each text")
      .text("target", &V1::target, "CODE", "language of the translations")
      .choice("format", &V1::format, {{"text", "text"}, {"html", "html"}}, "FORMAT", "what the texts are")
      .number("n_best", &V1::n_best, {.least = 1, .most = most_translations}, "N",
              "number of translations of each text, with the alternatives")
      .text("target_prefix", &V1::target_prefix, "TEXT", "text that every translation begins with")
      .custom({{.name = "constraints",
                .placeholder = "TEXT",
                .help = "texts that the translation contains; for texts of one sentence",
                .repeated = true}},
              read_list("constraints", &V1::constraints))
      .custom(
          {{.name = "suppress", .placeholder = "TEXT", .help = "texts that no translation contains", .repeated = true}},
          read_list("suppress", &V1::suppress))
      .custom({{.name = "glossary",
                .placeholder = "TERMS",
                .help = "terms with required translations: a list of {source, target, case}",
                .repeated = true}},
              read_tree("glossary", &V1::glossary))
      .custom({{.name = "options", .placeholder = "OPTIONS", .help = "options of the search"}},
              read_tree("options", &V1::options))
      .flag("details", &V1::details, "also answer sentences with scores and tokens")
      .flag("alignment", &V1::alignment, "with details: also attention weights")
      .flag("stream", &V1::stream, "answer by server-sent events while the translation grows");
  return table;
}

Json number_or_flag(const core::Option& option, const std::string& word) {
  if (option.placeholder.empty()) {
    if (word == "true" || word == "1" || word.empty()) return true;
    if (word == "false" || word == "0") return false;
    throw BadRequest(fmt::format("{}: must be true or false", option.name));
  }
  if (!option.parse) return word;
  try {
    return option.parse(word);
  } catch (const core::Error& error) {
    throw BadRequest(fmt::format("{}: {}", option.name, error.what()));
  }
}

Json sentence_json(const TranslatedSentence& sentence) {
  Json translations = Json::array();
  for (const pipeline::Translation& translation : sentence.translations) {
    Json& one = translations.emplace_back(Json{{"text", translation.text},
                                               {"score", translation.score},
                                               {"log_probability", translation.log_probability},
                                               {"tokens", translation.tokens},
                                               {"token_log_probabilities", translation.token_scores},
                                               {"stopped_by", translation.cut ? "length" : "end"}});
    if (!translation.alignment.empty()) one["alignment"] = translation.alignment;
    if (!translation.unmet_constraints.empty()) one["unmet_constraints"] = translation.unmet_constraints;
  }
  Json json{{"source", sentence.source}, {"translations", std::move(translations)}};
  if (!sentence.source_tokens.empty()) json["source_tokens"] = sentence.source_tokens;
  return json;
}

}  // namespace

const core::OptionTable<V1Request>& v1_table() {
  static const core::OptionTable<V1Request> table = make_table();
  return table;
}

V1Request read_v1_request(const Json& object) {
  V1Request asked;
  for (const auto& [key, value] : object.items())
    if (value.is_null()) throw BadRequest(fmt::format("{}: is null; leave it out", core::printable(key, 80)));
  OptionReader reader(object, "the request");
  v1_table().read(reader, asked);
  reader.finish();
  if (asked.target.empty()) throw BadRequest("target: is missing; it is the code of the language to translate into");
  return asked;
}

Json v1_object_of_query(const http::Request& request) {
  Json object = Json::object();
  for (const auto& [name, value] : request.query) {
    if (object.contains(name)) throw BadRequest(fmt::format("{}: is in the query twice", core::printable(name, 80)));
    const auto& options = v1_table().options();
    const auto option = std::ranges::find(options, name, &core::Option::name);
    if (name == "options" || name == "glossary")
      object[name] = parse_request_json(value, core::EqualKeys::kRefused);
    else
      object[name] = option == options.end() ? Json(value) : number_or_flag(*option, value);
  }
  return object;
}

TranslateRequest translate_request(const V1Request& asked, std::vector<std::string> texts,
                                   const http::Request& request) {
  TranslateRequest translate;
  translate.texts = std::move(texts);
  translate.source = asked.source;
  translate.target = asked.target;
  translate.format = asked.format == "html" ? TextFormat::kHtml : TextFormat::kText;
  translate.alternatives = asked.n_best - 1;
  translate.options = asked.options;
  translate.target_prefix = asked.target_prefix;
  translate.constraints = asked.constraints;
  translate.suppress = asked.suppress;
  // JSON as a text is for forms and query strings, which have nothing else.
  if (asked.glossary.get().is_string()) throw BadRequest("glossary: must be a list of objects {source, target}");
  translate.glossary = read_terms(asked.glossary.get());
  translate.details = asked.details;
  translate.alignment = asked.alignment;
  follow(request, translate);
  return translate;
}

Json v1_translation(const TranslatedText& text, const V1Request& asked) {
  Json translation{{"text", text.text}};
  if (text.detected) {
    translation["source"] = text.detected->language;
    translation["confidence"] = text.detected->confidence;
  } else {
    translation["source"] = asked.source;
  }
  if (asked.n_best > 1) translation["alternatives"] = text.alternatives;
  if (!asked.details) return translation;
  Json& sentences = translation["sentences"] = Json::array();
  for (const TranslatedSentence& sentence : text.sentences) sentences.push_back(sentence_json(sentence));
  return translation;
}

}  // namespace dragoman::server
