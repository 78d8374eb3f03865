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

/// The permitted types of an option's value.
template <class T>
concept OptionValue = std::same_as<T, bool> || std::same_as<T, int> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::uint64_t> || std::same_as<T, double> || std::same_as<T, std::string>;

/// Reads an options object key by key. finish() then rejects keys that were not read, so a mistyped key is an error
/// instead of a silent default. Use subtree() for lists and objects.
///
///     const Json json = parse_json(R"({"d_model": 256})", "config.json");    // json.h
///     OptionReader options(json, "config.json: model");
///     const int d_model = options.get("d_model", 512);
///     options.finish();
///
/// The reader refers to the object, which must outlive it. One thread at a time. Errors are Error{kBadInput} with the
/// place and the key.
class OptionReader {
 public:
  /// `where` names the file and place for messages. `object` must outlive the reader. Null counts as an empty object.
  OptionReader(const Json& object, std::string where);

  /// Returns the value of `key`, or `fallback` if the key is absent. Throws Error{kBadInput} if the type is wrong.
  template <OptionValue T>
  T get(std::string_view key, T fallback) {
    const Json* value = find(key);
    return value == nullptr ? fallback : convert<T>(key, *value);
  }
  std::string get(std::string_view key, const char* fallback) { return get(key, std::string(fallback)); }

  /// Returns the value of `key`. Throws Error{kBadInput} if the key is absent or the type is wrong.
  template <OptionValue T>
  T require_key(std::string_view key) {
    return convert<T>(key, find_required(key));
  }

  /// Returns the value for the name at `key`, which must be one of `choices`. The error lists them.
  template <class Enum>
  Enum choice(std::string_view key, Enum fallback, const std::vector<std::pair<std::string_view, Enum>>& choices) {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    std::vector<std::string_view> names;
    for (const auto& [name, meant] : choices) names.push_back(name);
    return choices[find_choice(key, *value, names)].second;
  }

  bool has(std::string_view key) { return find(key) != nullptr; }
  /// Returns the subtree at `key` (null if absent) and marks it as read. The caller validates its contents.
  const Json& subtree(std::string_view key);
  /// Returns a reader of the object at `key` (empty if absent). The caller must finish() it too.
  OptionReader child(std::string_view key);
  /// Throws an Error with the message `where: key: message` unless `condition` holds.
  void check(bool condition, std::string_view key, std::string_view message) const;
  /// Throws if a key was never read. The message suggests the nearest key that was.
  void finish() const;

  const std::string& where() const noexcept { return where_; }

 private:
  const Json* find(std::string_view key);
  const Json& find_required(std::string_view key);
  template <OptionValue T>
  T convert(std::string_view key, const Json& value) const;
  /// Returns the index in `names` of the name that the value spells.
  std::size_t find_choice(std::string_view key, const Json& value, std::span<const std::string_view> names) const;
  [[noreturn]] void wrong_type(std::string_view key, const Json& value, std::string_view wanted) const;

  const Json* object_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace dragoman::core
