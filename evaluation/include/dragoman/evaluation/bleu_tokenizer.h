#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::evaluation {

/// The tokenization of a text for BLEU. None of these depends on the language or the locale.
enum class BleuTokenizer {
  k13a,            ///< WMT's mteval-v13a: ASCII punctuation, XML entities, digits kept with their commas and periods
  kInternational,  ///< mteval-v14: Unicode punctuation and symbols, by the categories of the linked ICU
  kCharacter,      ///< each code point except whitespace
  kNone,           ///< split at whitespace
  kChinese,        ///< each Chinese character; mteval-v13a's rules for the rest
};

/// Returns the name in signatures and on the command line: "13a", "intl", "char", "none", "zh".
std::string_view tokenizer_name(BleuTokenizer tokenizer);

/// Returns the tokens of one segment (valid UTF-8), as sacreBLEU's tokenizer of that name produces them. Thread-safe.
///
///     const std::vector<std::string> tokens = tokenize("Good morning!", BleuTokenizer::k13a);     // Good, morning, !
std::vector<std::string> tokenize(std::string_view segment, BleuTokenizer tokenizer);

}  // namespace dragoman::evaluation
