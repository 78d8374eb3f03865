#include "extensions.h"

#include <utility>

namespace dragoman::server {

using core::Json;

// The interface that the extension Immersive Translate calls as its "custom API":
// {"source_lang", "target_lang", "text_list": [..]} -> {"translations": [{"detected_source_lang", "text"}]}.
void add_imme_routes(http::Router& router, TranslationService& service, const DialectOptions& options) {
  add_extension_route(router, "/imme", [&service, options](http::Request& request, http::Reply& reply) {
    const Parameters parameters(request);
    const std::string source = parameters.text("source_lang");
    TranslateRequest translate = extension_request(
        request, options, read_texts(parameters.get("text_list"), "text_list"), source, parameters.text("target_lang"));
    translate_and_answer(service, std::move(translate), reply, error_object, [source](TranslateResult& result) {
      Json translations = Json::array();
      for (TranslatedText& text : result.texts)
        translations.push_back({{"detected_source_lang", source_of(text, source)}, {"text", std::move(text.text)}});
      return Json{{"translations", std::move(translations)}};
    });
  });
}

}  // namespace dragoman::server
