#include "extensions.h"

#include <atomic>
#include <utility>

#include <dragoman/core/ascii.h>

namespace dragoman::server {

using core::Json;

namespace {

/// DeepLX tells the status in the body, too.
http::Response word_deeplx(const Problem& problem) {
  http::Response response = error_object(problem);
  response.body = json_text({{"code", problem.status}, {"message", problem.message}});
  return response;
}

constexpr std::int32_t kAlternatives = 3;

}  // namespace

// The interface of DeepLX, which many extensions speak: {"text", "source_lang", "target_lang"} ->
// {"code": 200, "id", "data", "alternatives": [..], "source_lang", "target_lang", "method"}.
void add_deeplx_routes(http::Router& router, TranslationService& service, const DialectOptions& options) {
  add_extension_route(router, "/deeplx", [&service, options](http::Request& request, http::Reply& reply) {
    static std::atomic<std::uint64_t> requests = 0;
    const std::uint64_t id = ++requests;
    const auto body = guarded(word_deeplx, [&](http::Request& checked, http::Reply& answer) {
      const Parameters parameters(checked);
      const std::string source = parameters.text("source_lang");
      const std::string target = parameters.text("target_lang");
      const std::string text = parameters.text("text");
      if (text.empty()) throw BadRequest("text is missing");
      TranslateRequest translate = extension_request(checked, options, {text}, source, target);
      translate.alternatives = kAlternatives;
      translate_and_answer(service, std::move(translate), answer, word_deeplx,
                           [source, target, id](TranslateResult& result) {
                             TranslatedText& translated = result.texts.front();
                             return Json{{"code", 200},
                                         {"id", id},
                                         {"data", std::move(translated.text)},
                                         {"alternatives", std::move(translated.alternatives)},
                                         {"source_lang", core::ascii_upper(source_of(translated, source))},
                                         {"target_lang", core::ascii_upper(target)},
                                         {"method", "Free"}};
                           });
    });
    body(std::move(request), reply);
  });
}

}  // namespace dragoman::server
