#include "extensions.h"

#include <utility>

#include <dragoman/core/ascii.h>

namespace dragoman::server {
namespace {

std::string find_extension_key(const http::Request& request) {
  if (const std::string_view token = request.query_value("token"); !token.empty()) return std::string(token);
  return std::string(request.headers.get("KEY"));  // refused after a body, see is_refused_in_trailers()
}

}  // namespace

TranslateRequest extension_request(const http::Request& request, const DialectOptions& options,
                                   std::vector<std::string> texts, const std::string& source,
                                   const std::string& target) {
  if (target.empty()) throw BadRequest("the target language is missing");
  check_limits(texts, request, options);
  TranslateRequest translate;
  translate.texts = std::move(texts);
  translate.source = source.empty() ? "auto" : core::ascii_lower(source);
  translate.target = core::ascii_lower(target);
  follow(request, translate);
  return translate;
}

std::string source_of(const TranslatedText& text, const std::string& named) {
  return text.detected ? text.detected->language : named;
}

void add_extension_route(http::Router& router, const std::string& pattern,
                         std::function<void(http::Request&, http::Reply&)> body) {
  http::Route made = route("POST", pattern, guarded(error_object, std::move(body)));
  made.find_key = find_extension_key;
  made.refuse = refuse_by(error_object);
  router.add(std::move(made));
}

}  // namespace dragoman::server
