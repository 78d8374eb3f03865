#include "fingerprint_difference.h"

#include <map>

#include <fmt/format.h>

#include <dragoman/core/quote.h>

namespace dragoman::plugins {
namespace {

using Parts = std::map<std::string, std::string, std::less<>>;

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 64;  // of a hash
  return core::printable(text, kLongest);
}

/// "part=value; part=value"; text without '=' becomes a part without a value.
Parts split(std::string_view text) {
  Parts parts;
  while (!text.empty()) {
    const std::size_t end = text.find("; ");
    const std::string_view part = text.substr(0, end);
    text = end == text.npos ? std::string_view{} : text.substr(end + 2);
    const std::size_t equals = part.find('=');
    parts[shown(part.substr(0, equals))] = equals == part.npos ? "" : shown(part.substr(equals + 1));
  }
  return parts;
}

/// Returns the beginning of a hash, which suffices to distinguish it.
std::string shortened(const Parts& parts, const std::string& name) {
  constexpr std::size_t kHashShown = 12;
  const auto found = parts.find(name);
  if (found == parts.end()) return "nothing";
  return fmt::format(
      "'{}'", std::string_view(found->second).substr(0, found->second.size() == 64 ? kHashShown : std::string::npos));
}

}  // namespace

std::string fingerprint_difference(std::string_view plugin, std::string_view host) {
  if (plugin == host) return {};
  const Parts theirs = split(plugin);
  const Parts ours = split(host);
  std::string result;
  for (const auto& [name, value] : ours) {
    const auto found = theirs.find(name);
    if (found != theirs.end() && found->second == value) continue;
    result += fmt::format("{}{} {} where this program has {}", result.empty() ? "" : ", ", name,
                          shortened(theirs, name), shortened(ours, name));
  }
  return result.empty() ? "it knows parts that this program does not" : result;
}

}  // namespace dragoman::plugins
