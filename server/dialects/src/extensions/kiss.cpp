#include "extensions.h"

#include <utility>

namespace dragoman::server {

using core::Json;

// The interface that the extension KISS Translator calls as its custom API: {"from", "to", "text"} -> {"text", "src"},
// and for batches {"from", "to", "texts": [..]} -> {"translations": [{"text", "src"}]}.
void add_kiss_routes(http::Router& router, TranslationService& service, const DialectOptions& options) {
  add_extension_route(router, "/kiss", [&service, options](http::Request& request, http::Reply& reply) {
    const Parameters parameters(request);
    const std::string source = parameters.text("from");
    const bool is_batch = parameters.has("texts");
    std::vector<std::string> texts =
        is_batch ? read_texts(parameters.get("texts"), "texts") : std::vector<std::string>{parameters.text("text")};
    if (!is_batch && texts.front().empty()) throw BadRequest("text is missing");
    TranslateRequest translate = extension_request(request, options, std::move(texts), source, parameters.text("to"));
    translate_and_answer(
        service, std::move(translate), reply, error_object, [source, is_batch](TranslateResult& result) {
          Json translations = Json::array();
          for (TranslatedText& text : result.texts)
            translations.push_back({{"text", std::move(text.text)}, {"src", source_of(text, source)}});
          return is_batch ? Json{{"translations", std::move(translations)}} : std::move(translations.front());
        });
  });
}

}  // namespace dragoman::server
