#include "table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::detection {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::string_view kMagic = "DRAGODET";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kMaxRows = 1U << 24;
constexpr std::uint32_t kMaxWidth = 256;
constexpr std::uint32_t kMaxLanguages = 1000;

void put(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift & 0xFF));
}

void put(std::string& out, float value) {
  put(out, std::bit_cast<std::uint32_t>(value));
}

/// Reads the fields of a table in their order.
class Fields {
 public:
  Fields(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - position_) fail("the file is cut off");
    position_ += count;
    return bytes_.substr(position_ - count, count);
  }
  std::uint32_t number(const char* what, std::uint32_t least, std::uint32_t most) {
    const std::uint32_t value = number();
    if (value < least || value > most) fail(fmt::format("{} is {}, must be {} to {}", what, value, least, most));
    return value;
  }
  float real() {
    const float value = std::bit_cast<float>(number());
    if (!std::isfinite(value)) fail("a weight is not finite");
    return value;
  }
  bool at_end() const { return position_ == bytes_.size(); }
  [[noreturn]] void fail(std::string_view reason) const {
    throw Error(ErrorCode::kBadInput, fmt::format("{}: not a table for language detection: {} (at byte {}); `dragoman "
                                                  "learn-detector` writes one",
                                                  name_, reason, position_));
  }

 private:
  std::uint32_t number() {
    std::uint32_t value = 0;
    int shift = 0;
    for (const char byte : take(4)) {
      value |= std::uint32_t{static_cast<std::uint8_t>(byte)} << shift;
      shift += 8;
    }
    return value;
  }

  std::string_view bytes_;
  std::string_view name_;
  std::size_t position_ = 0;
};

}  // namespace

bool is_language_code(std::string_view code) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !code.empty() && code.size() <= kMaxLanguageName && std::all_of(code.begin(), code.end(), allowed);
}

DetectorTable::DetectorTable(Parts parts) : parts_(std::move(parts)) {
  rows_ = static_cast<std::uint32_t>(parts_.rows.size() / parts_.width);
  sort_languages();
}

DetectorTable::DetectorTable(std::string_view bytes, std::string_view name) {
  Fields fields(bytes, name);
  if (!bytes.starts_with(kMagic)) fields.fail("it does not begin with " + std::string(kMagic));
  fields.take(kMagic.size());
  fields.number("the version", kVersion, kVersion);
  rows_ = fields.number("the number of rows", 1, kMaxRows);
  parts_.width = fields.number("the width", 1, kMaxWidth);
  const std::uint32_t languages = fields.number("the number of languages", 1, kMaxLanguages);
  for (std::uint32_t i = 0; i < languages; ++i) {
    const std::string_view padded = fields.take(kMaxLanguageName + 1);
    const std::string_view code = padded.substr(0, padded.find('\0'));
    if (!is_language_code(code)) fields.fail("language " + core::quote(code));
    if (std::find(parts_.languages.begin(), parts_.languages.end(), code) != parts_.languages.end())
      fields.fail("language " + core::quote(code) + " twice");
    parts_.languages.emplace_back(code);
  }
  for (auto& classes : parts_.classes) {
    classes.resize(fields.number("the number of classes", 0, languages));
    std::vector<bool> seen(languages);
    for (Class& one : classes) {
      one.language = fields.number("a language", 0, languages - 1);
      if (seen[one.language]) fields.fail("a language has two classes in one script");
      seen[one.language] = true;
      one.bias = fields.real();
      for (std::uint32_t i = 0; i < parts_.width; ++i) one.weights.push_back(fields.real());
    }
  }
  const std::string_view rows = fields.take(std::uint64_t{rows_} * parts_.width);
  if (!fields.at_end()) fields.fail("bytes follow the last row");
  parts_.rows.resize(rows.size());
  std::memcpy(parts_.rows.data(), rows.data(), rows.size());
  sort_languages();
}

std::string DetectorTable::bytes(const Parts& parts) {
  std::string out(kMagic);
  put(out, kVersion);
  put(out, static_cast<std::uint32_t>(parts.rows.size() / parts.width));
  put(out, parts.width);
  put(out, static_cast<std::uint32_t>(parts.languages.size()));
  for (const std::string& code : parts.languages) {
    out += code;
    out.append(kMaxLanguageName + 1 - code.size(), '\0');
  }
  for (const auto& classes : parts.classes) {
    put(out, static_cast<std::uint32_t>(classes.size()));
    for (const Class& one : classes) {
      put(out, one.language);
      put(out, one.bias);
      for (const float weight : one.weights) put(out, weight);
    }
  }
  out.append(reinterpret_cast<const char*>(parts.rows.data()), parts.rows.size());
  return out;
}

void DetectorTable::sort_languages() {
  std::set<std::string> all(parts_.languages.begin(), parts_.languages.end());
  for (const std::string_view language : languages_of_scripts()) all.emplace(language);
  languages_.assign(all.begin(), all.end());
  const auto index = [&](const std::string& code) {
    return static_cast<std::uint32_t>(std::lower_bound(languages_.begin(), languages_.end(), code) -
                                      languages_.begin());
  };
  for (auto& classes : parts_.classes)
    for (Class& one : classes) one.language = index(parts_.languages[one.language]);
}

}  // namespace dragoman::detection
