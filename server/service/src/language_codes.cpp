#include "language_codes.h"

#include <algorithm>
#include <array>

#include <unicode/locid.h>

namespace dragoman::server {
namespace {

/// Returns the code as a language tag. Models write "de_DE", "deu_Latn" and "__de__".
std::string as_tag(std::string_view code) {
  while (!code.empty() && code.front() == '_') code.remove_prefix(1);
  while (!code.empty() && code.back() == '_') code.remove_suffix(1);
  std::string tag(code);
  std::ranges::replace(tag, '_', '-');
  return tag;
}

icu::Locale locale_of(std::string_view code) {
  constexpr std::size_t kLongest = 40;
  if (code.size() > kLongest) return icu::Locale("");
  UErrorCode status = U_ZERO_ERROR;
  icu::Locale locale = icu::Locale::forLanguageTag(as_tag(code), status);
  if (U_FAILURE(status) != 0 || locale.isBogus() != 0 || *locale.getLanguage() == 0) return icu::Locale("");
  return locale;
}

std::string tag_of(const icu::Locale& locale) {
  UErrorCode status = U_ZERO_ERROR;
  const auto tag = locale.toLanguageTag<std::string>(status);
  return U_FAILURE(status) != 0 || tag == "und" ? std::string() : tag;
}

}  // namespace

std::string language_key(std::string_view code) {
  icu::Locale locale = locale_of(code);
  if (*locale.getLanguage() == 0) return {};
  UErrorCode status = U_ZERO_ERROR;
  locale.minimizeSubtags(status);
  return U_FAILURE(status) != 0 ? std::string() : tag_of(locale);
}

std::string without_region(const std::string& key) {
  icu::Locale locale = locale_of(key);
  if (*locale.getLanguage() == 0) return {};
  UErrorCode status = U_ZERO_ERROR;
  locale.addLikelySubtags(status);  // the script that the region implies: Hant for zh-TW
  std::string tag = locale.getLanguage();
  if (*locale.getScript() != 0) tag.append("-").append(locale.getScript());
  return language_key(tag);
}

std::string language_name(const std::string& code) {
  const icu::Locale locale = locale_of(code);
  if (*locale.getISO3Language() == 0) return code;
  icu::UnicodeString name;
  locale.getDisplayName(icu::Locale::getEnglish(), name);
  std::string text;
  name.toUTF8String(text);
  return text.empty() ? code : text;
}

bool has_no_spaces(const std::string& code) {
  static constexpr std::array<std::string_view, 7> kLanguages = {"zh", "ja", "th", "lo", "km", "my", "yue"};
  const std::string key = language_key(code);
  const std::string_view language = std::string_view(key).substr(0, key.find('-'));
  return std::ranges::find(kLanguages, language) != kLanguages.end();
}

}  // namespace dragoman::server
