#include "libretranslate_spec.h"

#include <string>
#include <vector>

namespace dragoman::server {
namespace {

using core::Json;

struct Field {
  const char* name;
  const char* type;
  bool required;
  const char* help;
};

const Field kQ{"q", "string", true, "the text; in JSON also a list of texts, and in forms it may be repeated"};
const Field kSource{"source", "string", true, "code of the language of the text, or auto"};
const Field kTarget{"target", "string", true, "code of the language of the translation"};
const Field kKey{"api_key", "string", false, "API key"};

Json operation(const std::string& tag, const std::string& summary, const std::vector<Field>& fields,
               const Json& success) {
  Json parameters = Json::array();
  bool has_file = false;
  for (const Field& field : fields) {
    const bool is_file = std::string(field.type) == "file";
    has_file = has_file || is_file;
    Json parameter{{"in", "formData"}, {"name", field.name}, {"required", field.required}, {"description", field.help}};
    if (is_file)
      parameter["type"] = "file";
    else
      parameter["schema"] = {{"type", field.type}};
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
       {std::pair{"400", "Invalid request"}, std::pair{"403", "Refused"},
        std::pair{"429", "Too many requests; Retry-After has the seconds"}, std::pair{"500", "Translation error"}})
    described["responses"][status] = {{"description", meaning}, {"schema", {{"$ref", "#/definitions/error-response"}}}};
  return described;
}

Json object(const Json& properties) {
  return {{"type", "object"}, {"properties", properties}};
}

Json list_of(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}

Json make_spec() {
  const Json text{{"type", "string"}};
  const Json guess =
      object({{"confidence", {{"type", "number"}, {"minimum", 0}, {"maximum", 100}}}, {"language", text}});
  const Json language = object({{"code", text}, {"name", text}, {"targets", list_of(text)}});
  const Json named = object({{"code", text}, {"name", text}});
  const Json flag{{"type", "boolean"}};
  Json paths;
  paths["/translate"]["post"] =
      operation("translate", "Translate text",
                {kQ,
                 kSource,
                 kTarget,
                 {"format", "string", false, "text or html"},
                 {"alternatives", "integer", false, "number of further translations"},
                 {"glossary", "string", false, "JSON: [{source, target}], terms with required translations"},
                 kKey},
                object({{"translatedText", text}, {"detectedLanguage", guess}, {"alternatives", list_of(text)}}));
  paths["/detect"]["post"] = operation("translate", "Detect the language of a text", {kQ, kKey}, list_of(guess));
  paths["/languages"]["get"] = operation("translate", "List the languages", {}, list_of(language));
  paths["/translate_file"]["post"] =
      operation("translate", "Translate a file", {{"file", "file", true, "the file"}, kSource, kTarget, kKey},
                object({{"translatedFileUrl", text}}));
  paths["/suggest"]["post"] =
      operation("misc", "Suggest a better translation",
                {{"q", "string", true, "the text"}, {"s", "string", true, "its translation"}, kSource, kTarget, kKey},
                object({{"success", flag}}));
  paths["/frontend/settings"]["get"] =
      operation("misc", "Settings of a user interface", {},
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

}  // namespace

const Json& libretranslate_spec() {
  static const Json spec = make_spec();
  return spec;
}

}  // namespace dragoman::server
