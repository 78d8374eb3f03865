#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {

[[noreturn]] inline void unsupported(const std::string& where, std::string_view what) {
  core::fail(core::ErrorCode::kUnsupported, "{}: {} is not supported", where, what);
}

/// An object of the file with its location for messages.
class JsonPart {
 public:
  JsonPart(const nlohmann::json& json, std::string where) : json_(json), where_(std::move(where)) {
    core::require(json.is_object(), core::ErrorCode::kBadInput, "{}: expected an object, not {}", where_,
                  json.type_name());
  }

  const std::string& where() const { return where_; }
  std::string at(std::string_view key) const { return where_ + "." + std::string(key); }

  /// Throws for keys other than these: an unknown key might change the behaviour of the tokenizer.
  void allow(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : json_.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        unsupported(where_, fmt::format("the key {}", core::Quoted{key}));
  }
  const nlohmann::json& get(const char* key) const {
    static const nlohmann::json null;
    const auto found = json_.find(key);
    return found == json_.end() ? null : *found;
  }
  bool is_null(const char* key) const { return get(key).is_null(); }
  std::string text(const char* key) const {
    const nlohmann::json& value = get(key);
    core::require(value.is_string(), core::ErrorCode::kBadInput, "{}: expected a text, not {}", at(key),
                  value.type_name());
    return value.get<std::string>();
  }
  bool flag(const char* key) const {
    const nlohmann::json& value = get(key);
    core::require(value.is_boolean() || value.is_null(), core::ErrorCode::kBadInput,
                  "{}: expected true or false, not {}", at(key), value.type_name());
    return value.is_boolean() && value.get<bool>();
  }
  std::int32_t number(const char* key) const { return whole_number(get(key), at(key)); }
  const nlohmann::json& array(const char* key) const {
    const nlohmann::json& value = get(key);
    core::require(value.is_array(), core::ErrorCode::kBadInput, "{}: expected a list, not {}", at(key),
                  value.type_name());
    return value;
  }
  std::string type() const { return text("type"); }

  static std::int32_t whole_number(const nlohmann::json& value, const std::string& where) {
    core::require(is_whole_number(value), core::ErrorCode::kBadInput,
                  "{}: expected a whole number from 0 to 2147483647", where);
    return value.get<std::int32_t>();
  }
  static bool is_whole_number(const nlohmann::json& value) {
    return value.is_number_unsigned() && value.get<std::uint64_t>() <= 0x7FFFFFFF;
  }

 private:
  const nlohmann::json& json_;
  std::string where_;
};

inline JsonPart child(const JsonPart& part, const char* key) {
  return JsonPart(part.get(key), part.at(key));
}

inline JsonPart element(const JsonPart& part, const char* key, std::size_t index) {
  return JsonPart(part.array(key)[index], fmt::format("{}[{}]", part.at(key), index));
}

}  // namespace dragoman::tokenizer
