#pragma once

#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>

namespace dragoman::core {

/// Reads an options object key by key and then refuses what nobody asked for, so that a mistyped key is an error and
/// not a default.
///
///     OptionReader options(json, "config.json: model");
///     config.d_model = options.get("d_model", 512);
///     options.finish();
class OptionReader {
 public:
  /// `where` names file and place for messages. `object` must outlive the reader; null counts as an empty object.
  OptionReader(const Json& object, std::string where);

  /// The value of `key`, or `fallback` if it is absent. A value of the wrong type is an Error{kBadInput}.
  template <class T>
  T get(std::string_view key, T fallback) {
    const Json* value = find(key);
    return value == nullptr ? fallback : convert<T>(key, *value);
  }
  std::string get(std::string_view key, const char* fallback) { return get(key, std::string(fallback)); }

  /// The value of `key`; an Error{kBadInput} if it is absent.
  template <class T>
  T require_key(std::string_view key) {
    const Json* value = find(key);
    require(value != nullptr, ErrorCode::kBadInput, "{}: the key '{}' is missing", where_, key);
    return convert<T>(key, *value);
  }

  /// One of `choices`; the error lists them.
  template <class Enum>
  Enum choice(std::string_view key, Enum fallback, const std::vector<std::pair<std::string_view, Enum>>& choices) {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    const auto text = convert<std::string>(key, *value);
    std::string known;
    for (const auto& [name, result] : choices) {
      if (name == text) return result;
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    fail(ErrorCode::kBadInput, "{}: {} is {}; it must be one of: {}", where_, key, quote(text), known);
  }

  bool has(std::string_view key) { return find(key) != nullptr; }
  /// The sub-tree at `key` (null if absent), marked as read. The caller checks what is in it.
  const Json& subtree(std::string_view key);
  /// A reader of the object at `key` (empty if absent); finish() it, too.
  OptionReader child(std::string_view key);
  /// Throws if `condition` does not hold: `where: key: message`.
  void check(bool condition, std::string_view key, std::string_view message) const;
  /// Throws on a key that was never read, naming the nearest one that was.
  void finish() const;

  const std::string& where() const noexcept { return where_; }

 private:
  const Json* find(std::string_view key);
  [[noreturn]] void wrong_type(std::string_view key, const Json& value, std::string_view wanted) const;

  template <class T>
  T convert(std::string_view key, const Json& value) const {
    if constexpr (std::is_same_v<T, bool>) {
      if (!value.is_boolean()) wrong_type(key, value, "true or false");
    } else if constexpr (std::is_unsigned_v<T>) {
      if (!value.is_number_integer() || (value.is_number_integer() && !value.is_number_unsigned()))
        wrong_type(key, value, "a whole number that is not negative");
    } else if constexpr (std::is_integral_v<T>) {
      if (!value.is_number_integer()) wrong_type(key, value, "a whole number");
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!value.is_number()) wrong_type(key, value, "a number");
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.is_string()) wrong_type(key, value, "a text");
    }
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                   : std::in_range<T>(value.get<std::int64_t>());
      if (!fits) wrong_type(key, value, "a smaller number");
    }
    try {
      return value.get<T>();
    } catch (const nlohmann::json::exception&) {
      wrong_type(key, value, "of another type");
    }
  }

  const Json* object_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace dragoman::core
