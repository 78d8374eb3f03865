#pragma once

#include "growth.h"
#include "request_parser.h"
#include "target.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/utf8.h>
#include <dragoman/server/router.h>

namespace dragoman::fuzz {

/// What a connection would make of its bytes.
struct ReadRequests {
  std::vector<std::string> requests;  ///< as text, with the status of their answers
  int failure = 0;                    ///< the status that ended the connection; 0: none
};

class AnswerStatus final : public server::http::Exchange {
 public:
  int status = 0;
  void send(server::http::Response response) override { status = response.status; }
  void begin(server::http::Response head) override { status = head.status; }
  bool write(std::string_view) override { return false; }
  void finish() override {}
};

inline const server::http::Router& fuzz_router() {
  static const server::http::Router router = [] {
    server::http::Router made;
    const auto add = [&](const char* method, const char* pattern) {
      made.add({.method = method,
                .pattern = pattern,
                .handler = [](const server::http::Request& request, server::http::Reply reply) {
                  promise(request.parameter.find('/') == std::string::npos, "a parameter is one segment");
                  reply.send({});
                }});
    };
    add("GET", "/");
    add("POST", "/translate");
    add("GET", "/files/{name}");
    add("GET", "/v2/glossaries/{name}/entries");
    return made;
  }();
  return router;
}

inline bool is_plain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); });
}

/// Checks what handlers rely on, routes the request, and describes it.
inline std::string use_request(server::http::Request request) {
  promise(request.path.starts_with('/') && is_plain(request.path), "a path is a path");
  promise(
      (request.path + "/").find("/../") == std::string::npos && (request.path + "/").find("/./") == std::string::npos,
      "a path stays below the root");
  promise(core::find_invalid_utf8(request.path) == std::string_view::npos, "a path is UTF-8");
  std::string text = request.method + " " + request.path;
  for (const auto& [name, value] : request.query) {
    promise(core::find_invalid_utf8(name + value) == std::string_view::npos, "a query is UTF-8");
    text += "\n?" + name + "=" + value;
  }
  for (const auto& [name, value] : request.headers) {
    promise(is_plain(name) && is_plain(value), "a field is one line");
    text += "\n" + name + ": " + value;
  }
  text += "\n\n" + request.body;
  const auto answer = std::make_shared<AnswerStatus>();
  fuzz_router().serve(std::move(request), server::http::Reply(answer));
  promise(answer->status != 0, "every request is answered");
  return fmt::format("{}\n{}", text, answer->status);
}

inline ReadRequests read_requests(std::string_view bytes, std::size_t step) {
  using Parser = server::http::RequestParser;
  constexpr Parser::Bounds kBounds{.head_bytes = 8192, .head_fields = 50, .body_bytes = 4096};
  ReadRequests read;
  auto parser = std::make_unique<Parser>(kBounds);
  std::string input;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    input += bytes.substr(at, step);
    std::string_view left = input;
    for (bool more = true; more;) {
      const std::size_t consumed = parser->put(left);
      promise(consumed <= left.size(), "no more is consumed than there is");
      promise(parser->body_size() <= kBounds.body_bytes, "a body has its bound");
      left.remove_prefix(consumed);
      more = consumed != 0 && !left.empty();
      if (parser->state() == Parser::State::kFailed) {
        promise(parser->status() >= 400 && !parser->reason().empty(), "a failure has a reason");
        read.failure = parser->status();
        return read;
      }
      if (parser->state() == Parser::State::kDone) {
        read.requests.push_back(use_request(parser->take()));
        parser = std::make_unique<Parser>(kBounds);
      }
    }
    input.erase(0, input.size() - left.size());
  }
  return read;
}

/// Reads the bytes of a connection: requests, one after the other. True if all of them are well-formed.
inline bool exercise_http_request(std::string_view bytes) {
  const ReadRequests whole = read_requests(bytes, std::max<std::size_t>(bytes.size(), 1));
  const ReadRequests parts = read_requests(bytes, 13);
  promise(whole.requests == parts.requests, "parts that arrive one by one are the same requests");
  promise((whole.failure == 0) == (parts.failure == 0), "parts that arrive one by one fail like the whole");
  return !whole.requests.empty() && whole.failure == 0;
}

inline std::string many_requests(std::string_view seed, std::size_t size) {
  return parts(size, [&](std::size_t) { return std::string(seed); });
}

inline Target http_request_target() {
  return {
      .name = "http_request",
      .exercise = exercise_http_request,
      .budget = {.microseconds_per_byte = 5, .bytes_per_byte = 256},
      .growths = {{"many requests", "get", many_requests}},
  };
}

}  // namespace dragoman::fuzz
