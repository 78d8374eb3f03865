#include "quote.h"

#include <nlohmann/json.hpp>

namespace dragoman::formats {

std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string shown(text.substr(0, kLongest));
  if (text.size() > kLongest) shown += "...";
  using nlohmann::json;
  std::string escaped = json(shown).dump(-1, ' ', true, json::error_handler_t::replace);
  escaped.front() = escaped.back() = '\'';
  return escaped;
}

}  // namespace dragoman::formats
