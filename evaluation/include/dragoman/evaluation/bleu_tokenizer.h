#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::evaluation {

/// How BLEU cuts a text into tokens. None of them depends on the language or the locale.
enum class BleuTokenizer {
  k13a,            ///< WMT's mteval-v13a: ASCII punctuation, XML entities, digits kept with their commas and periods
  kInternational,  ///< mteval-v14: Unicode punctuation and symbols; categories as of the ICU that is linked
  kCharacter,      ///< each code point that is not white space
  kNone,           ///< at white space
  kChinese,        ///< each Chinese character, and mteval-v13a's rules for the rest
};

/// The name in signatures and on the command line: "13a", "intl", "char", "none", "zh".
std::string_view tokenizer_name(BleuTokenizer tokenizer);

/// The tokens of one segment (valid UTF-8), as sacreBLEU's tokenizer of that name makes them.
std::vector<std::string> tokenize(std::string_view segment, BleuTokenizer tokenizer);

}  // namespace dragoman::evaluation
