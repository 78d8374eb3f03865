#pragma once

#include <filesystem>

#include <dragoman/evaluation/bleu.h>

namespace dragoman::evaluation {

/// The folder of the IPA dictionary in Debian's package mecab-ipadic-utf8.
inline constexpr const char* kDebianIpaDictionary = "/var/lib/mecab/dic/ipadic-utf8";

/// Returns a tokenizer that splits Japanese into words with MeCab and the given dictionary, as sacreBLEU's tokenizer
/// `ja-mecab` does. With the dictionary that sacreBLEU uses, its name is also sacreBLEU's, "ja-mecab-0.996-IPA". Other
/// dictionaries have their number of words in the name. Debian's has one word more (令和), so it is
/// "ja-mecab-0.996-392127".
///
///     const Bleu metric({.other_tokenizer = make_mecab_tokenizer()});
///
/// Throws Error{kUnsupported} if the library libmecab.so.2 is not installed, and Error{kIo} if the folder cannot be
/// opened as a dictionary in UTF-8. The tokenizer throws Error{kBadInput} for a segment of more than 16 KiB, since
/// MeCab's time grows with the square of a run of letters.
OtherBleuTokenizer make_mecab_tokenizer(const std::filesystem::path& dictionary = kDebianIpaDictionary);

}  // namespace dragoman::evaluation
