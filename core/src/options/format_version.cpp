#include "dragoman/core/format_version.h"

#include "dragoman/core/error.h"
#include "dragoman/core/json.h"
#include "dragoman/core/quote.h"

namespace dragoman::core {

std::int64_t require_known_version(const Json& object, std::int64_t newest, const std::string& where) {
  const auto found = object.find("format_version");
  if (found == object.end()) return 0;
  const std::string shown = quote(one_line(*found));
  require(found->is_number_integer() && *found >= 1, ErrorCode::kBadInput,
          "{}: format_version is {}; it must be a whole number from 1", where, shown);
  require(*found <= newest, ErrorCode::kUnsupported,
          "{}: format_version is {}; this program reads 1 to {}; use the program that wrote it", where, shown, newest);
  return found->get<std::int64_t>();
}

}  // namespace dragoman::core
