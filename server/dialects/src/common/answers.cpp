#include "answers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::server {
namespace {

using core::ErrorCode;
using core::Json;

Problem problem_of(const core::Error& error) {
  switch (error.code()) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kBadInput:
    case ErrorCode::kUnsupported:
      return {400, error.what()};
    case ErrorCode::kInterrupted:
      return {503, "the translation was stopped before its end; try again"};
    default:
      return {500, "the server could not translate this; its log has the reason"};
  }
}

Json read_glossary_text(const std::string& text) {
  try {
    return parse_request_json(text, core::EqualKeys::kLastCounts);
  } catch (const BadBody&) {
    throw BadRequest("glossary: must be JSON: a list of objects {source, target}");
  }
}

GlossaryTerm read_term(const Json& value) {
  if (!value.is_object()) throw BadRequest("glossary: must be a list of objects {source, target}");
  GlossaryTerm term;
  for (const auto& [key, own] : value.items()) {
    if (key == "source") {
      if (!own.is_string()) throw BadRequest("glossary: source: must be a text");
      term.source = own.get<std::string>();
    } else if (key == "target") {
      term.targets = read_texts(own, "glossary: target");
    } else if (key == "case") {
      if (!is_text(own, "any") && !is_text(own, "exact")) throw BadRequest("glossary: case: must be any or exact");
      term.exact_case = is_text(own, "exact");
    } else {
      throw BadRequest(fmt::format("glossary: unknown key {}; a term has source, target and case", json_text(key)));
    }
  }
  return term;
}

}  // namespace

Problem describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const BadRequest& bad) {
    return {bad.status(), bad.what()};
  } catch (const Busy& busy) {
    return {429, busy.what(), busy.retry_after()};
  } catch (const DeadlinePassed& late) {
    return {504, late.what()};
  } catch (const core::Error& bad) {
    return problem_of(bad);
  } catch (...) {
    return {500, "the server could not translate this; its log has the reason"};
  }
}

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

http::Response plain_answer(int status, std::string content_type, std::string body) {
  http::Response response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.body = std::move(body);
  return response;
}

http::Response json_answer(const Json& value, int status) {
  return http::json_response(status, json_text(value));
}

http::Response keyed_error(const std::string& key, const Problem& problem) {
  http::Response response = json_answer(Json{{key, problem.message}}, problem.status);
  if (problem.retry_after.count() > 0) response.headers.set("Retry-After", std::to_string(problem.retry_after.count()));
  return response;
}

http::Response error_object(const Problem& problem) {
  return keyed_error("error", problem);
}

void follow(const http::Request& request, TranslateRequest& translate) {
  translate.stop = request.gone;
  translate.deadline = request.deadline;
  translate.caller = request.caller;
}

http::Handler guarded(WordProblem word, std::function<void(http::Request&, http::Reply&)> body) {
  return [word = std::move(word), body = std::move(body)](http::Request request, http::Reply reply) {
    try {
      body(request, reply);
    } catch (...) {
      reply.send(word(describe(std::current_exception())));
    }
  };
}

void translate_and_answer(TranslationService& service, TranslateRequest request, http::Reply reply, WordProblem word,
                          std::function<Json(TranslateResult&)> answer) {
  service.translate(std::move(request), [reply = std::move(reply), word = std::move(word),
                                         answer = std::move(answer)](TranslateResult result) mutable {
    try {
      if (const std::exception_ptr error = result.error()) std::rethrow_exception(error);
      reply.send(json_answer(answer(result)));
    } catch (...) {
      reply.send(word(describe(std::current_exception())));
    }
  });
}

http::Route route(std::string method, std::string pattern, http::Handler handler, http::Access access) {
  http::Route route;
  route.method = std::move(method);
  route.pattern = std::move(pattern);
  route.handler = std::move(handler);
  route.access = access;
  return route;
}

std::function<http::Response(const http::Request&, const http::Refusal&)> refuse_by(WordProblem word) {
  return [word = std::move(word)](const http::Request&, const http::Refusal& refusal) {
    return word({refusal.status, refusal.reason, refusal.retry_after});
  };
}

std::vector<std::string> read_texts(const Json& value, const std::string& name, bool* is_list) {
  if (is_list != nullptr) *is_list = value.is_array();
  std::vector<std::string> texts;
  const auto add = [&](const Json& text) {
    if (!text.is_string()) throw BadRequest(fmt::format("{}: must be a text or a list of texts", name));
    texts.push_back(text.get<std::string>());
  };
  if (value.is_null()) return texts;
  if (value.is_array())
    for (const Json& text : value) add(text);
  else
    add(value);
  return texts;
}

SharedTerms read_terms(const Json& value) {
  if (value.is_null()) return nullptr;
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text.empty()) return nullptr;
    const Json parsed = read_glossary_text(text);
    if (parsed.is_string()) throw BadRequest("glossary: must be a list of objects {source, target}");
    return read_terms(parsed);
  }
  std::vector<GlossaryTerm> terms;
  if (value.is_object()) {
    for (const auto& [source, target] : value.items())
      terms.push_back({.source = source, .targets = read_texts(target, "glossary")});
  } else if (value.is_array()) {
    for (const Json& term : value) terms.push_back(read_term(term));
  } else {
    throw BadRequest("glossary: must be a list of objects {source, target}");
  }
  return terms.empty() ? nullptr : make_terms(std::move(terms));
}

std::size_t count_characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void check_limits(const std::vector<std::string>& texts, const http::Request& request, const DialectOptions& options) {
  const auto exceeds = [](std::size_t size, std::size_t limit) {
    return BadRequest(fmt::format("Invalid request: request ({}) exceeds text limit ({})", size, limit));
  };
  if (options.batch_limit > 0 && texts.size() > options.batch_limit) throw exceeds(texts.size(), options.batch_limit);
  std::size_t sum = 0;
  for (const std::string& text : texts) sum += count_characters(text);
  if (request.character_limit > 0 && sum > request.character_limit) throw exceeds(sum, request.character_limit);
}

}  // namespace dragoman::server
