#pragma once

#include "common/parameters.h"
#include "target.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>

namespace dragoman::fuzz {

inline void check_texts(const core::Json& value) {
  if (value.is_string())
    promise(core::find_invalid_utf8(value.get_ref<const std::string&>()) == std::string::npos, "texts are valid UTF-8");
  if (!value.is_structured()) return;
  for (const core::Json& part : value) check_texts(part);
}

/// The first line is the type of the body, the rest the body of a request. Returns whether it was accepted.
inline bool exercise_http_body(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  server::http::Request request;
  request.method = "POST";
  request.headers.set("Content-Type", std::string(bytes.substr(0, end)));
  request.body = bytes.substr(std::min(end + 1, bytes.size()));
  try {
    const server::Parameters parameters(request);
    promise(parameters.all().is_object(), "parameters are an object");
    check_texts(parameters.all());
    std::size_t content = 0;
    for (const server::UploadedFile& file : parameters.files()) content += file.content.size();
    promise(content <= request.body.size(), "files come from the body");
    if (!parameters.from_json()) return true;
    server::http::Request again = request;
    again.body = parameters.all().dump();
    promise(server::Parameters(again).all() == parameters.all(), "JSON that is written and read is the same");
    return true;
  } catch (const server::BadBody& bad) {
    check_message(bad.what());
    return false;
  }
}

inline Target http_body_target() {
  return {.name = "http_body",
          .exercise = exercise_http_body,
          .budget = {.microseconds_per_byte = 3, .bytes_per_byte = 512}};
}

}  // namespace dragoman::fuzz
