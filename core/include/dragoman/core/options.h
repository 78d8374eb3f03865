#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// What the value of an option may be.
template <class T>
concept OptionValue = std::same_as<T, bool> || std::same_as<T, int> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::uint64_t> || std::same_as<T, double> || std::same_as<T, std::string>;

/// Reads an options object key by key and then refuses what nobody asked for, so that a mistyped key is an error and
/// not a default. Lists and objects are read from subtree().
///
///     OptionReader options(json, "config.json: model");
///     config.d_model = options.get("d_model", 512);
///     options.finish();
class OptionReader {
 public:
  /// `where` names file and place for messages. `object` must outlive the reader; null counts as an empty object.
  OptionReader(const Json& object, std::string where);

  /// The value of `key`, or `fallback` if it is absent. A value of the wrong type is an Error{kBadInput}.
  template <OptionValue T>
  T get(std::string_view key, T fallback) {
    const Json* value = find(key);
    return value == nullptr ? fallback : convert<T>(key, *value);
  }
  std::string get(std::string_view key, const char* fallback) { return get(key, std::string(fallback)); }

  /// The value of `key`; an Error{kBadInput} if it is absent.
  template <OptionValue T>
  T require_key(std::string_view key) {
    return convert<T>(key, find_required(key));
  }

  /// One of `choices`; the error lists them.
  template <class Enum>
  Enum choice(std::string_view key, Enum fallback, const std::vector<std::pair<std::string_view, Enum>>& choices) {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    std::vector<std::string_view> names;
    for (const auto& [name, meant] : choices) names.push_back(name);
    return choices[find_choice(key, *value, names)].second;
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
  const Json& find_required(std::string_view key);
  template <OptionValue T>
  T convert(std::string_view key, const Json& value) const;
  /// The index of the name that the value is.
  std::size_t find_choice(std::string_view key, const Json& value, std::span<const std::string_view> names) const;
  [[noreturn]] void wrong_type(std::string_view key, const Json& value, std::string_view wanted) const;

  const Json* object_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace dragoman::core
