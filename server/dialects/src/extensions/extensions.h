#pragma once

#include "common/answers.h"

#include <optional>
#include <string>

namespace dragoman::server {

/// Makes a request of what browser extensions send: the source may be absent or "auto", and codes are in any case.
/// BadRequest if there is no target.
TranslateRequest extension_request(const http::Request& request, const DialectOptions& options,
                                   std::vector<std::string> texts, const std::string& source,
                                   const std::string& target);

/// Returns the language of a text: the detected one, or the one that the client named.
std::string source_of(const TranslatedText& text, const std::string& named);

/// Adds a POST route whose problems are {"error": message}. The caller's key is also read from the query's `token`, as
/// extensions can set no header, and from the header `KEY`.
void add_extension_route(http::Router& router, const std::string& pattern,
                         std::function<void(http::Request&, http::Reply&)> body);

}  // namespace dragoman::server
