#include "dragoman/core/options.h"

#include "dragoman/core/error.h"
#include "dragoman/core/nearest_name.h"
#include "dragoman/core/quote.h"

namespace dragoman::core {
namespace {

const Json kNull;
const Json kEmptyObject = Json::object();

}  // namespace

OptionReader::OptionReader(const Json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (object.is_null()) object_ = &kEmptyObject;
  require(object_->is_object(), ErrorCode::kBadInput, "{}: expected keys and values, not {}", where_,
          object.type_name());
}

const Json* OptionReader::find(std::string_view key) {
  read_.emplace(key);
  const auto found = object_->find(std::string(key));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

const Json& OptionReader::subtree(std::string_view key) {
  const Json* value = find(key);
  return value == nullptr ? kNull : *value;
}

OptionReader OptionReader::child(std::string_view key) {
  return OptionReader(subtree(key), fmt::format("{}: {}", where_, key));
}

void OptionReader::check(bool condition, std::string_view key, std::string_view message) const {
  require(condition, ErrorCode::kBadInput, "{}: {}: {}", where_, key, message);
}

void OptionReader::finish() const {
  for (const auto& [key, value] : object_->items()) {
    if (read_.contains(key)) continue;
    const std::string nearest = nearest_name(key, {read_.begin(), read_.end()});
    fail(ErrorCode::kBadInput, "{}: unknown key {}{}", where_, quote(key),
         nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest));
  }
}

void OptionReader::wrong_type(std::string_view key, const Json& value, std::string_view wanted) const {
  constexpr std::size_t kShown = 60;
  const std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  fail(ErrorCode::kBadInput, "{}: {} must be {}, not {}", where_, key, wanted, printable(shown, kShown));
}

}  // namespace dragoman::core
