#include "v1_request.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/decoding/option_table.h>

namespace dragoman::server {
namespace {

using core::Json;

const Json kText{{"type", "string"}};
const Json kNumber{{"type", "number"}};
const Json kShare{{"type", "number"}, {"minimum", 0}, {"maximum", 1}};

Json list_of(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}

Json object(const Json& properties, const Json& required = Json::array()) {
  Json schema{{"type", "object"}, {"properties", properties}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

Json reference(const std::string& name) {
  return {{"$ref", "#/components/schemas/" + name}};
}

/// Returns the type that the values of an option have.
Json type_of(const core::Option& option) {
  const Json& fallback = option.fallback.get();
  const auto named = [](const Json& value) -> Json {
    if (value.is_boolean()) return "boolean";
    if (value.is_number_integer()) return "integer";
    if (value.is_number()) return "number";
    if (value.is_array()) return "array";
    if (value.is_object()) return "object";
    return "string";
  };
  if (option.placeholder.empty()) return "boolean";
  if (!fallback.is_null()) return named(fallback);
  if (!option.parse) return "string";
  try {
    return named(option.parse("1"));
  } catch (const core::Error&) {
    return "string";
  }
}

Json schema_of(const core::Option& option) {
  Json schema{{"type", type_of(option)}, {"description", option.help}};
  if (schema["type"] == "array") schema["items"] = Json::object();
  schema.update(option.schema.get());
  if (!option.choices.empty()) schema["enum"] = option.choices;
  if (!option.fallback.get().is_null()) schema["default"] = option.fallback.get();
  return schema;
}

Json schema_of(const std::vector<core::Option>& options) {
  Json properties = Json::object();
  for (const core::Option& option : options) properties[option.name] = schema_of(option);
  Json schema = object(properties);
  schema["additionalProperties"] = false;
  return schema;
}

/// Returns the schema of the search options that a request may set.
Json search_schema(const TranslationService& service) {
  Json schema = schema_of(decoding::search_table().options());
  Json& properties = schema["properties"];
  for (auto each = properties.begin(); each != properties.end();)
    each = each.key().starts_with("mbr_") ? properties.erase(each) : std::next(each);
  properties["decoder"]["enum"] = service.decoders();
  for (const char* key : {"beam_size", "n_best"}) properties[key]["maximum"] = service.max_hypotheses();
  return schema;
}

/// Returns the schema of a text, or of a list of texts. 0: any number.
Json text_or_texts(std::size_t characters = 0, std::size_t texts = 0) {
  Json text = kText;
  if (characters > 0) text["maxLength"] = characters;
  Json list = list_of(text);
  if (texts > 0) list["maxItems"] = texts;
  return {{"oneOf", {std::move(text), std::move(list)}}};
}

/// Returns the schema of a text that is not blank.
Json word_schema() {
  return {{"type", "string"}, {"minLength", 1}, {"pattern", "\\S"}};
}

/// Returns the schema of the texts that may translate a term.
Json targets_schema() {
  Json list = list_of(word_schema());
  list["minItems"] = 1;
  list["maxItems"] = kMaxTargetsOfTerm;
  return {{"oneOf", {word_schema(), std::move(list)}}};
}

Json term_schema() {
  Json schema = object({{"source", word_schema()},
                        {"target", targets_schema()},
                        {"case", {{"type", "string"}, {"enum", {"any", "exact"}}, {"default", "any"}}}},
                       {"source", "target"});
  schema["additionalProperties"] = false;
  return schema;
}

/// Returns the pairs of languages that requests may have, as alternatives. Languages with the same targets share one.
Json pair_schemas(const std::vector<Language>& languages) {
  std::map<std::set<std::string>, Json> sources_of;
  std::set<std::string> all;
  for (const Language& language : languages) {
    all.insert(language.code);
    std::set<std::string> targets(language.targets.begin(), language.targets.end());
    targets.insert(language.code);  // such texts come back as they are
    sources_of[targets].push_back(language.code);
  }
  sources_of[all].push_back("auto");
  const auto one_of = [](const Json& codes) { return Json{{"type", "string"}, {"enum", codes}}; };
  Json schemas = Json::array();
  for (const auto& [targets, sources] : sources_of)
    schemas.push_back({{"properties", {{"source", one_of(sources)}, {"target", one_of(targets)}}}});
  return schemas;
}

/// Returns what requests with each format may have, as alternatives.
Json format_schemas() {
  const Json one{{"type", "integer"}, {"maximum", 1}};
  const auto format = [](const char* name) { return Json{{"type", "string"}, {"enum", {name}}}; };
  return {{{"properties", {{"format", format("text")}}}},
          {{"properties",
            {{"format", format("html")},
             {"n_best", one},
             {"alignment", {{"type", "boolean"}, {"enum", {false}}}},
             {"options", {{"type", "object"}, {"properties", {{"n_best", one}}}}}}}}};
}

Json request_schema(const TranslationService& service, const DialectOptions& options) {
  Json schema = schema_of(v1_table().options());
  Json& properties = schema["properties"];
  Json sources = Json::array({"auto"});
  Json targets = Json::array();
  for (const Language& language : service.languages()) {
    sources.push_back(language.code);
    targets.push_back(language.code);
  }
  const auto describe = [&](const char* key, Json type) {
    Json& property = properties[key];
    type["description"] = property["description"];
    if (property.contains("default")) type["default"] = property["default"];
    property = std::move(type);
  };
  describe("text", text_or_texts(options.character_limit, options.batch_limit));
  describe("source", {{"type", "string"}, {"enum", sources}});
  describe("target", {{"type", "string"}, {"enum", targets}});
  const Json words{{"oneOf", {word_schema(), list_of(word_schema())}}};
  describe("constraints", words);
  describe("suppress", words);
  Json terms = list_of(reference("Term"));
  terms["maxItems"] = kMaxTerms;
  Json by_source{{"type", "object"}, {"maxProperties", kMaxTerms}, {"additionalProperties", targets_schema()}};
  describe("glossary", {{"oneOf", {std::move(terms), std::move(by_source)}}});
  properties["n_best"]["maximum"] = service.max_hypotheses();
  describe("options", reference("Options"));
  schema["required"] = {"text", "target"};
  schema["allOf"] = {{{"anyOf", pair_schemas(service.languages())}}, {{"anyOf", format_schemas()}}};
  return schema;
}

Json schemas(const TranslationService& service, const DialectOptions& options) {
  const Json number_list = list_of(kNumber);
  const Json guess = object({{"language", kText}, {"confidence", kShare}}, {"language", "confidence"});
  return {
      {"Request", request_schema(service, options)},
      {"Options", search_schema(service)},
      {"Term", term_schema()},
      {"Hypothesis", object({{"text", kText},
                             {"score", kNumber},
                             {"log_probability", kNumber},
                             {"tokens", list_of(kText)},
                             {"token_log_probabilities", number_list},
                             {"stopped_by", {{"type", "string"}, {"enum", {"end", "length"}}}},
                             {"alignment", list_of(number_list)},
                             {"unmet_constraints", list_of(kText)}})},
      {"Sentence",
       object(
           {{"source", kText}, {"source_tokens", list_of(kText)}, {"translations", list_of(reference("Hypothesis"))}})},
      {"Translation", object({{"text", kText},
                              {"source", kText},
                              {"confidence", kShare},
                              {"alternatives", list_of(kText)},
                              {"sentences", list_of(reference("Sentence"))}},
                             {"text", "source"})},
      {"Answer", object({{"translations", list_of(reference("Translation"))}}, {"translations"})},
      {"Detections", object({{"detections", list_of(list_of(guess))}}, {"detections"})},
      {"Models",
       object({{"models",
                list_of(object(
                    {{"source", kText}, {"target", kText}, {"type", kText}, {"device", kText}, {"compute", kText}}))},
               {"languages", list_of(object({{"code", kText}, {"name", kText}, {"targets", list_of(kText)}}))}},
              {"models", "languages"})},
      {"Error", object({{"error", kText}}, {"error"})}};
}

Json json_content(const std::string& name) {
  return {{"application/json", {{"schema", reference(name)}}}};
}

Json responses(const std::string& name) {
  Json all;
  all["200"] = {{"description", "Success"}, {"content", json_content(name)}};
  for (const auto& [status, meaning] :
       {std::pair{"400", "The request is wrong: the error has the reason and the remedy"},
        std::pair{"401", "The key is missing"}, std::pair{"403", "The key is not valid"},
        std::pair{"413", "The body is too large"},
        std::pair{"429", "Too many requests, or no room; Retry-After has the seconds"},
        std::pair{"503", "The server is ending"}, std::pair{"504", "The translation took longer than the deadline"}})
    all[status] = {{"description", meaning}, {"content", json_content("Error")}};
  return all;
}

Json post(const std::string& summary, const Json& body, const std::string& answer) {
  return {{"post",
           {{"summary", summary},
            {"requestBody", {{"required", true}, {"content", {{"application/json", {{"schema", body}}}}}}},
            {"responses", responses(answer)}}}};
}

}  // namespace

Json v1_openapi(const TranslationService& service, const DialectOptions& options) {
  Json translate = post("Translate texts", reference("Request"), "Answer");
  Json& success = translate["post"]["responses"]["200"]["content"];
  success["text/event-stream"] = {
      {"schema", object({{"event", {{"type", "string"}, {"enum", {"partial", "done", "error"}}}},
                         {"data", {{"type", "string"}, {"description", "JSON"}}}},
                        {"event", "data"})}};
  success["application/x-ndjson"] = {{"schema", kText}};
  const std::size_t texts = options.batch_limit > 0 ? std::min(options.batch_limit, kMaxDetections) : kMaxDetections;
  Json detect = object({{"text", text_or_texts(options.character_limit, texts)}}, {"text"});
  Json models;
  models["get"] = {{"summary", "List the models and the languages"}, {"responses", responses("Models")}};
  return {{"openapi", "3.0.3"},
          {"info",
           {{"title", "Dragoman"},
            {"version", DRAGOMAN_VERSION},
            {"description", "Neural machine translation. docs/reference/http-api.md describes each key."},
            {"license", {{"name", "Apache-2.0"}}}}},
          {"paths",
           {{"/v1/translate", std::move(translate)},
            {"/v1/detect", post("Detect the languages of texts", detect, "Detections")},
            {"/v1/models", std::move(models)}}},
          {"components",
           {{"schemas", schemas(service, options)},
            {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace dragoman::server
