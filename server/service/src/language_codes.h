#pragma once

#include <string>
#include <string_view>

namespace dragoman::server {

/// Returns a spelling that equal languages share: "de" for "DE", "deu", "deu_Latn" and "de_DE". Scripts and regions
/// that the language implies are left out: "zh" for "zh-Hans-CN", and "pt" for "pt-BR", but "pt-PT". Empty if
/// the code is none of a language.
std::string language_key(std::string_view code);

/// Returns the key without its region: "pt" for "pt-PT".
std::string without_region(const std::string& key);

/// Returns the English name of a language, or the code itself.
std::string language_name(const std::string& code);

/// Returns whether sentences of the language follow one another without a space.
bool has_no_spaces(const std::string& code);

}  // namespace dragoman::server
