#include "request_target.h"

#include <algorithm>
#include <optional>

#include <dragoman/core/ascii.h>
#include <dragoman/core/utf8.h>

namespace dragoman::server::http {
namespace {

/// Returns nothing if an escape is malformed.
std::optional<std::string> decode_escapes(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = i + 2 < text.size() ? core::hex_digit(text[i + 1]) : -1;
      const int low = high >= 0 ? core::hex_digit(text[i + 2]) : -1;
      if (low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool has_dot_segment(std::string_view path) {
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    if (segment == "." || segment == "..") return true;
    begin = end + 1;
  }
  return false;
}

/// Cuts "http://host" from the beginning.
std::string_view without_authority(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    const std::size_t end = text.find_first_of("/?", scheme.size());
    return end == std::string_view::npos ? std::string_view() : text.substr(end);
  }
  return text;
}

}  // namespace

bool parse_pairs(std::string_view text, std::vector<std::pair<std::string, std::string>>& pairs) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('&', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    begin = end + 1;
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = decode_escapes(pair.substr(0, equals), true);
    auto value = decode_escapes(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return false;
    for (const std::string* part : {&*name, &*value})
      if (core::find_invalid_utf8(*part) != std::string_view::npos) return false;
    pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return true;
}

Target parse_target(std::string_view text) {
  Target target;
  if (text == "*") text = "/";
  text = without_authority(text);
  const std::size_t question = std::min(text.find('?'), text.size());
  const std::string_view raw = question == 0 ? std::string_view("/") : text.substr(0, question);
  auto path = decode_escapes(raw, false);
  if (text.find('#') != std::string_view::npos || !raw.starts_with('/'))
    target.problem = "the request's target is neither a path nor a URL";
  else if (!path)
    target.problem = "the path has a '%' without two hexadecimal digits";
  else if (std::ranges::any_of(*path, is_control) || core::find_invalid_utf8(*path) != std::string_view::npos)
    target.problem = "the path is not UTF-8, or has control characters";
  else if (has_dot_segment(*path))
    target.problem = "the path has a segment '.' or '..'";
  else if (!parse_pairs(text.substr(std::min(question + 1, text.size())), target.query))
    target.problem = "the query is not UTF-8, or has a '%' without two hexadecimal digits";
  if (target.problem.empty()) target.path = std::move(*path);
  return target;
}

}  // namespace dragoman::server::http
