#include "libretranslate_spec.h"

#include "libretranslate_text.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dragoman::server {
namespace {

using core::Json;

/// A field of a form.
struct Field {
  std::string name;
  bool required;
  std::string help;
  Json schema{{"type", "string"}};  ///< its type and bounds
};

const Field kKey{"api_key", false, "API key"};

Field text_field(const std::string& name, const std::string& help, std::size_t limit) {
  Field field{name, true, help};
  field.schema["minLength"] = 1;
  if (limit > 0) field.schema["maxLength"] = limit;
  return field;
}

Field language_field(const std::string& name, const std::string& help, const Json& codes) {
  return {name, true, help, {{"type", "string"}, {"enum", codes}}};
}

Json operation(const std::string& tag, const std::string& summary, const std::vector<Field>& fields,
               const Json& success) {
  Json parameters = Json::array();
  bool has_file = false;
  for (const Field& field : fields) {
    has_file = has_file || field.schema["type"] == "file";
    Json parameter{{"in", "formData"}, {"name", field.name}, {"required", field.required}, {"description", field.help}};
    parameter.update(field.schema);
    parameters.push_back(std::move(parameter));
  }
  Json described{{"tags", {tag}}, {"summary", summary}, {"produces", {"application/json"}}, {"parameters", parameters}};
  if (!fields.empty())
    described["consumes"] = has_file
                                ? Json{"multipart/form-data"}
                                : Json{"application/json", "application/x-www-form-urlencoded", "multipart/form-data"};
  described["responses"] = {{"200", {{"description", "Success"}, {"schema", success}}}};
  if (fields.empty()) return described;
  for (const auto& [status, meaning] :
       {std::pair{"400", "Invalid request"}, std::pair{"403", "Refused"}, std::pair{"413", "The body is too large"},
        std::pair{"429", "Too many requests; Retry-After has the seconds"}, std::pair{"500", "Translation error"},
        std::pair{"503", "No room, or the server is ending"},
        std::pair{"504", "The translation took longer than the deadline"}})
    described["responses"][status] = {{"description", meaning}, {"schema", {{"$ref", "#/definitions/error-response"}}}};
  return described;
}

Json object(const Json& properties) {
  return {{"type", "object"}, {"properties", properties}};
}

Json list_of(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}

/// Returns an operation that GET and, for older clients, POST call.
Json get_or_post(const std::string& tag, const std::string& summary, const Json& success) {
  Json operations;
  operations["get"] = operation(tag, summary, {}, success);
  operations["post"] = operations["get"];
  operations["post"]["deprecated"] = true;
  return operations;
}

}  // namespace

Json libretranslate_spec(const TranslationService& service, const DialectOptions& options) {
  const Json text{{"type", "string"}};
  const Json guess =
      object({{"confidence", {{"type", "number"}, {"minimum", 0}, {"maximum", 100}}}, {"language", text}});
  const Json language = object({{"code", text}, {"name", text}, {"targets", list_of(text)}});
  const Json named = object({{"code", text}, {"name", text}});
  const Json flag{{"type", "boolean"}};
  Json codes = Json::array();
  for (const Language& one : service.languages()) codes.push_back(to_libretranslate_code(one.code));
  const Field target = language_field("target", "code of the language of the translation", codes);
  codes.insert(codes.begin(), "auto");
  const Field source = language_field("source", "code of the language of the text, or auto", codes);
  codes.erase(codes.begin());
  const std::size_t limit = options.character_limit;
  const Field q = text_field("q", "the text; in JSON also a list of texts, and in forms it may be repeated", limit);
  Json paths;
  paths["/translate"]["post"] =
      operation("translate", "Translate text",
                {q,
                 source,
                 target,
                 {"format", false, "what the text is", {{"type", "string"}, {"enum", {"text", "html"}}}},
                 {"alternatives",
                  false,
                  "number of further translations",
                  {{"type", "integer"}, {"minimum", 0}, {"maximum", options.alternatives_limit}}},
                 {"glossary", false, "JSON: [{source, target}], terms with required translations"},
                 kKey},
                object({{"translatedText", text}, {"detectedLanguage", guess}, {"alternatives", list_of(text)}}));
  paths["/detect"]["post"] = operation("translate", "Detect the language of a text", {q, kKey}, list_of(guess));
  paths["/languages"] = get_or_post("translate", "List the languages", list_of(language));
  paths["/translate_file"]["post"] =
      operation("translate", "Translate a file",
                {{"file", true, "a text file (.txt) or HTML (.html, .htm)", {{"type", "file"}}}, source, target, kKey},
                object({{"translatedFileUrl", text}}));
  if (options.suggest)
    paths["/suggest"]["post"] =
        operation("misc", "Suggest a better translation",
                  {text_field("q", "the text", limit), text_field("s", "its translation", limit),
                   language_field("source", "code of the language of the text", codes), target, kKey},
                  object({{"success", flag}}));
  paths["/frontend/settings"] = get_or_post("misc", "Settings of a user interface",
                                            object({{"charLimit", {{"type", "integer"}}},
                                                    {"frontendTimeout", {{"type", "integer"}}},
                                                    {"apiKeys", flag},
                                                    {"keyRequired", flag},
                                                    {"suggestions", flag},
                                                    {"filesTranslation", flag},
                                                    {"supportedFilesFormat", list_of(text)},
                                                    {"language", object({{"source", named}, {"target", named}})}}));
  paths["/health"]["get"] = operation("health", "State of the server", {}, object({{"status", text}}));
  return {{"swagger", "2.0"},
          {"info",
           {{"title", "Dragoman: LibreTranslate's interface"},
            {"description",
             "The interface of LibreTranslate, answered by Dragoman. /v1/openapi.json describes Dragoman's own."},
            {"version", DRAGOMAN_VERSION}}},
          {"basePath", "/"},
          {"definitions", {{"error-response", object({{"error", text}})}}},
          {"paths", paths}};
}

}  // namespace dragoman::server
