#pragma once

#include "parameters.h"

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/server/dialects.h>
#include <dragoman/server/http.h>
#include <dragoman/server/router.h>
#include <dragoman/server/translation_service.h>

namespace dragoman::server {

/// A failure, as the client sees it.
struct Problem {
  int status = 500;
  std::string message{};
  std::chrono::seconds retry_after{0};  ///< 0: not stated
};

/// Describes an error. Errors that are not about the request are described without their text, which may name files.
Problem describe(const std::exception_ptr& error);

/// Words a problem as a dialect does.
using WordProblem = std::function<http::Response(const Problem&)>;

/// Returns {"error": message}, with Retry-After.
http::Response error_object(const Problem& problem);
/// Returns {KEY: message}, with Retry-After.
http::Response keyed_error(const std::string& key, const Problem& problem);

http::Response plain_answer(int status, std::string content_type, std::string body);
http::Response json_answer(const core::Json& value, int status = 200);

/// Returns the text of a JSON value for an answer.
std::string json_text(const core::Json& value);

/// Answers a request by `body`, and any exception by `word`.
http::Handler guarded(WordProblem word, std::function<void(http::Request&, http::Reply&)> body);

/// Ends the translation with the request, and counts it for the request's caller.
void follow(const http::Request& request, TranslateRequest& translate);

/// Translates, and answers with what `answer` makes of the result, or with the first error.
void translate_and_answer(TranslationService& service, TranslateRequest request, http::Reply reply, WordProblem word,
                          std::function<core::Json(TranslateResult&)> answer);

/// Returns a route.
http::Route route(std::string method, std::string pattern, http::Handler handler,
                  http::Access access = http::Access::kKey);
/// Words refusals, as of a missing key, by `word`.
std::function<http::Response(const http::Request&, const http::Refusal&)> refuse_by(WordProblem word);

/// Reads a text or a list of texts. `is_list` tells which. BadRequest for anything else.
std::vector<std::string> read_texts(const core::Json& value, const std::string& name, bool* is_list = nullptr);

/// Reads a glossary: a list of {"source", "target", "case"}, or an object from source terms to target terms, or such
/// JSON as a text. `target` is a text, or a list of accepted texts. `case` is "any" or "exact".
/// nullptr if the value is null. BadRequest.
SharedTerms read_terms(const core::Json& value);

/// Throws BadRequest for too many texts, and for texts that have together more characters than the caller's limit.
void check_limits(const std::vector<std::string>& texts, const http::Request& request, const DialectOptions& options);

std::size_t count_characters(std::string_view text) noexcept;

}  // namespace dragoman::server
