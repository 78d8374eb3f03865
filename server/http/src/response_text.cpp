#include "response_text.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <dragoman/core/ascii.h>

namespace dragoman::server::http {
namespace {

bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool is_servers_own(std::string_view name) {
  constexpr std::array<std::string_view, 6> kOwn = {"content-length", "transfer-encoding", "connection", "keep-alive",
                                                    "date",           "content-type"};
  return std::ranges::find(kOwn, core::ascii_lower(name)) != kOwn.end();
}

}  // namespace

std::string head_text(const Response& response, const Framing& framing) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\n", response.status,
                                 reason_phrase(response.status), fmt::gmtime(std::time(nullptr)));
  const std::string_view type =
      response.content_type.empty() ? response.headers.get("Content-Type") : std::string_view(response.content_type);
  if (!type.empty() && is_field_value(type)) text += fmt::format("Content-Type: {}\r\n", type);
  for (const auto& [name, value] : response.headers)
    if (is_token(name) && is_field_value(value) && !is_servers_own(name))
      text += fmt::format("{}: {}\r\n", name, value);
  if (framing.length) text += fmt::format("Content-Length: {}\r\n", *framing.length);
  if (framing.chunked) text += "Transfer-Encoding: chunked\r\n";
  text += framing.keeps_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return text;
}

std::string chunk_text(std::string_view part) {
  std::string text = fmt::format("{:x}\r\n", part.size());
  text.reserve(text.size() + part.size() + 2);
  text += part;
  text += "\r\n";
  return text;
}

}  // namespace dragoman::server::http
