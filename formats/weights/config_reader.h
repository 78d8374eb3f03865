#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::imports {

/// Typed access to the configuration of a toolkit's model. The caller passes the toolkit's default with each key. Null
/// counts as absent. The configuration must outlive the reader.
class ConfigReader {
 public:
  ConfigReader(const core::Json& config, std::string name) : config_(config), name_(std::move(name)) {}

  [[noreturn]] void refuse(std::string_view key, std::string_view complaint,
                           core::ErrorCode code = core::ErrorCode::kUnsupported) const {
    core::fail(code, "{}: {}: {}", name_, key, complaint);
  }
  const core::Json* find(const char* key) const {
    const auto found = config_.find(key);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
  }
  std::int64_t integer(const char* key, std::int64_t fallback, std::int64_t least, std::int64_t most) const {
    const core::Json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_number_integer() || *value < least || *value > most)
      refuse(key, fmt::format("is {}; it must be a whole number in {} .. {}", core::one_line(*value), least, most),
             core::ErrorCode::kBadInput);
    return value->get<std::int64_t>();
  }
  std::int64_t size(const char* key, std::int64_t fallback) const { return integer(key, fallback, 1, 1 << 24); }
  double number(const char* key, double fallback) const {
    const core::Json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_number() || !std::isfinite(value->get<double>()))
      refuse(key, "must be a number", core::ErrorCode::kBadInput);
    return value->get<double>();
  }
  bool flag(const char* key, bool fallback) const {
    const core::Json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) refuse(key, "must be true or false", core::ErrorCode::kBadInput);
    return value->get<bool>();
  }
  std::string text(const char* key, const char* fallback) const {
    const core::Json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_string()) refuse(key, "must be a text", core::ErrorCode::kBadInput);
    return value->get<std::string>();
  }
  /// Requires the value of a flag that the current toolkit ignores and the model's original toolkit does not.
  void expect(const char* key, bool wanted) const {
    if (flag(key, wanted) != wanted)
      refuse(key, fmt::format("is {}, but models of this model_type are computed as if it were {}", !wanted, wanted));
  }
  const std::string& name() const noexcept { return name_; }

 private:
  const core::Json& config_;
  std::string name_;
};

}  // namespace dragoman::imports
