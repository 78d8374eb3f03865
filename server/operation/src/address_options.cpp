#include "address_options.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/numbers.h>
#include <dragoman/core/quote.h>

namespace dragoman::server {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";

bool is_made_of(std::string_view text, std::string_view letters, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) {
    return letters.find(c) != std::string_view::npos || others.find(c) != std::string_view::npos;
  });
}

/// Returns whether the text has printable ASCII characters only, as an address of the web must.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; });
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return result;
}

/// Returns whether the text is HOST or HOST:PORT of an address of the web. `port` is the text of the port.
bool is_authority(std::string_view text, std::string_view& port) {
  std::string_view host = text;
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  if (const std::size_t colon = text.find(':', bracket); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    const auto number = core::spelled_number<int>(port);
    if (!number || *number < 1 || *number > 65535) return false;
  }
  if (bracket > 0)
    return host.size() == bracket + 1 && http::canonical_address(std::string(host.substr(1, bracket - 1))).has_value();
  return !host.empty() && is_made_of(lower_case(host), kLower, "0123456789.-");
}

/// Returns the part of an address of the web after `http://` or `https://`, or nullopt for another one.
std::optional<std::string_view> after_web_scheme(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (lower_case(url.substr(0, scheme.size())) == scheme) return url.substr(scheme.size());
  return std::nullopt;
}

bool is_web_address(std::string_view url) {
  const auto rest = after_web_scheme(url);
  std::string_view port;
  return rest && is_plain(url) && is_authority(rest->substr(0, rest->find_first_of("/?#")), port);
}

bool is_host(const std::string& host) {
  if (http::canonical_address(host)) return true;
  return !host.empty() && is_made_of(lower_case(host), kLower, "0123456789.-_");
}

/// Returns whether a browser may send this text as the field Origin.
bool is_origin(std::string_view origin) {
  const std::size_t end = origin.find("://");
  if (end == std::string_view::npos || origin != lower_case(origin)) return false;
  const std::string_view scheme = origin.substr(0, end);
  std::string_view port;
  if (scheme.empty() || kLower.find(scheme.front()) == std::string_view::npos ||
      !is_made_of(scheme, kLower, "0123456789+-.") || !is_authority(origin.substr(end + 3), port))
    return false;
  return port != (scheme == "https" ? "443" : scheme == "http" ? "80" : "none");
}

}  // namespace

void check_addresses(const core::OptionReader& reader, ServerOptions& options) {
  const auto check = [&](bool holds, const char* key, std::string_view demand, const std::string& found) {
    if (!holds) reader.check(false, key, fmt::format("must be {}, and not {}", demand, core::quote(found)));
  };
  check(is_host(options.host), "host",
        "a name or an address, as localhost, 0.0.0.0 or ::, without a scheme; `port` is the port", options.host);
  for (std::string& proxy : options.trusted_proxies) {
    const auto address = http::canonical_address(proxy);
    check(address.has_value(), "trusted_proxy", "an IP address, as 127.0.0.1 or ::1", proxy);
    proxy = *address;
  }
  if (std::string& url = options.public_url; !url.empty()) {
    check(is_web_address(url) && url.find_first_of("?#") == std::string::npos, "public_url",
          "an address that begins with https:// or http://, as https://translate.example.org", url);
    while (url.ends_with('/')) url.pop_back();
  }
  if (const std::string& link = options.key_link; !link.empty())
    check(
        is_web_address(link) || (link.starts_with("mailto:") && link.find('@') != std::string::npos && is_plain(link)),
        "key_link", "an address that begins with https://, http:// or mailto:", link);
  for (const std::string& origin : options.allow_origin)
    check(origin == "*" || is_origin(origin), "allow_origin",
          "* or an origin as browsers send it, as https://example.org: in lower case, without a path and without the "
          "default port",
          origin);
}

}  // namespace dragoman::server
