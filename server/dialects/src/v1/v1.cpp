#include "v1_request.h"
#include "v1_stream.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/ascii.h>

namespace dragoman::server {
namespace {

using core::Json;

bool has_lines(const http::Request& request) {
  const std::string type = core::ascii_lower(request.headers.get("Content-Type"));
  for (const char* lines : {"application/x-ndjson", "application/ndjson", "application/jsonl"})
    if (type.starts_with(lines)) return true;
  return false;
}

Json read_object(const http::Request& request) {
  Json object = v1_object_of_query(request);
  http::Request body = request;
  body.query.clear();
  replace_members(object, Parameters(body, core::EqualKeys::kRefused).all());
  return object;
}

void translate(TranslationService& service, const DialectOptions& options, http::Request& request, http::Reply& reply) {
  if (has_lines(request)) return answer_by_lines(service, request, options, reply);
  const V1Request asked = read_v1_request(read_object(request));
  if (asked.text.get().is_null()) throw BadRequest("text: is missing; it is a text or a list of texts");
  std::vector<std::string> texts = read_texts(asked.text.get(), "text");
  check_limits(texts, request, options);
  TranslateRequest translate = translate_request(asked, std::move(texts), request);
  if (asked.stream) return answer_by_events(service, asked, std::move(translate), reply);
  translate_and_answer(service, std::move(translate), reply, error_object, [asked](TranslateResult& result) {
    Json translations = Json::array();
    for (const TranslatedText& text : result.texts) translations.push_back(v1_translation(text, asked));
    return Json{{"translations", std::move(translations)}};
  });
}

void detect(const TranslationService& service, const DialectOptions& options, const http::Request& request,
            http::Reply& reply) {
  constexpr std::size_t kGuesses = 3;
  const Parameters parameters(request, core::EqualKeys::kRefused);
  const std::vector<std::string> texts = read_texts(parameters.get("text"), "text");
  if (!parameters.has("text")) throw BadRequest("text: is missing; it is a text or a list of texts");
  if (texts.size() > kMaxDetections)
    throw BadRequest(fmt::format("{} texts; there may be {}", texts.size(), kMaxDetections));
  check_limits(texts, request, options);
  Json detections = Json::array();
  for (const std::string& text : texts) {
    Json& guesses = detections.emplace_back(Json::array());
    for (const LanguageGuess& guess : service.detect(text, kGuesses))
      guesses.push_back({{"language", guess.language}, {"confidence", guess.confidence}});
  }
  reply.send(json_answer({{"detections", std::move(detections)}}));
}

void models(const TranslationService& service, http::Reply& reply) {
  Json list = Json::array();
  for (const ModelInfo& model : service.models())
    list.push_back({{"source", model.source},
                    {"target", model.target},
                    {"type", model.type},
                    {"device", model.device},
                    {"compute", model.compute}});
  Json languages = Json::array();
  for (const Language& language : service.languages())
    languages.push_back({{"code", language.code}, {"name", language.name}, {"targets", language.targets}});
  reply.send(json_answer({{"models", std::move(list)}, {"languages", std::move(languages)}}));
}

}  // namespace

void add_v1_routes(http::Router& router, TranslationService& service, const DialectOptions& options) {
  using http::Access;
  using http::Reply;
  using http::Request;
  router.add(route("POST", "/v1/translate", guarded(error_object, [&service, options](Request& request, Reply& reply) {
                     translate(service, options, request, reply);
                   })));
  router.add(route("POST", "/v1/detect", guarded(error_object, [&service, options](Request& request, Reply& reply) {
                     detect(service, options, request, reply);
                   })));
  router.add(route("GET", "/v1/models",
                   guarded(error_object, [&service](Request&, Reply& reply) { models(service, reply); }),
                   Access::kOpen));
  router.add(route(
      "GET", "/v1/openapi.json",
      guarded(error_object,
              [&service, options](Request&, Reply& reply) { reply.send(json_answer(v1_openapi(service, options))); }),
      Access::kOpen));
}

}  // namespace dragoman::server
