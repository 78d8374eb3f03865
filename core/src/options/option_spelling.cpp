#include "dragoman/core/option_spelling.h"

#include "dragoman/core/error.h"
#include "dragoman/core/json.h"
#include "dragoman/core/quote.h"

#include <algorithm>
#include <set>
#include <utility>

namespace dragoman::core {

Json spelled_with_underscores(const Json& options, const std::string& where) {
  if (!options.is_object()) return options;
  Json result = Json::object();
  // The interface of Json objects would compare each new key with all earlier ones.
  auto& entries = result.get_ref<Json::object_t&>();
  entries.reserve(options.size());
  std::set<std::string> names;
  for (const auto& [key, value] : options.items()) {
    std::string name = key;
    std::ranges::replace(name, '-', '_');
    require(names.insert(name).second, ErrorCode::kBadInput,
            "{}: {} is there twice, spelled with - and with _; leave one of them out", where, quote(name));
    entries.emplace_back(std::move(name), value);
  }
  return result;
}

}  // namespace dragoman::core
