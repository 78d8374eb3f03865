#include "dragoman/core/options.h"

#include "dragoman/core/json.h"
#include "dragoman/core/option_error.h"
#include "dragoman/core/quote.h"
#include "dragoman/core/unknown_key.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

const Json& OptionReader::find_required(std::string_view key) {
  const Json* value = find(key);
  require_option(value != nullptr, key, ErrorCode::kBadInput, "{}: the key '{}' is missing", where_, key);
  return *value;
}

template <OptionValue T>
T OptionReader::convert(std::string_view key, const Json& value) const {
  if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean()) wrong_type(key, value, "true or false");
  } else if constexpr (std::is_unsigned_v<T>) {
    if (!value.is_number_unsigned()) wrong_type(key, value, "a whole number that is not negative");
  } else if constexpr (std::is_integral_v<T>) {
    if (!value.is_number_integer()) wrong_type(key, value, "a whole number");
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) wrong_type(key, value, "a number");
  } else {
    if (!value.is_string()) wrong_type(key, value, "a text");
  }
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                 : std::in_range<T>(value.get<std::int64_t>());
    if (!fits) wrong_type(key, value, "a smaller number");
  }
  return value.get<T>();
}

template bool OptionReader::convert(std::string_view key, const Json& value) const;
template int OptionReader::convert(std::string_view key, const Json& value) const;
template std::int64_t OptionReader::convert(std::string_view key, const Json& value) const;
template std::uint64_t OptionReader::convert(std::string_view key, const Json& value) const;
template double OptionReader::convert(std::string_view key, const Json& value) const;
template std::string OptionReader::convert(std::string_view key, const Json& value) const;

std::size_t OptionReader::find_choice(std::string_view key, const Json& value,
                                      std::span<const std::string_view> names) const {
  const auto text = convert<std::string>(key, value);
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    fail_option(key, ErrorCode::kBadInput, "{}: {} is {}; it must be one of: {}", where_, key, quote(text),
                fmt::join(names, ", "));
  return static_cast<std::size_t>(found - names.begin());
}

const Json& OptionReader::subtree(std::string_view key) {
  const Json* value = find(key);
  return value == nullptr ? kNull : *value;
}

OptionReader OptionReader::child(std::string_view key) {
  return OptionReader(subtree(key), fmt::format("{}: {}", where_, key));
}

void OptionReader::check(bool condition, std::string_view key, std::string_view message) const {
  require_option(condition, key, ErrorCode::kBadInput, "{}: {}: {}", where_, key, message);
}

void OptionReader::finish() const {
  for (const auto& [key, value] : object_->items())
    if (!read_.contains(key)) throw UnknownKey(where_, key, {read_.begin(), read_.end()});
}

void OptionReader::wrong_type(std::string_view key, const Json& value, std::string_view wanted) const {
  constexpr std::size_t kShown = 60;
  const std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  fail_option(key, ErrorCode::kBadInput, "{}: {} must be {}, not {}", where_, key, wanted, printable(shown, kShown));
}

}  // namespace dragoman::core
