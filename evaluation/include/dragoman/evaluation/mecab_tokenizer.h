#pragma once

#include <filesystem>

#include <dragoman/evaluation/bleu.h>

namespace dragoman::evaluation {

/// Where Debian's package mecab-ipadic-utf8 has the IPA dictionary.
inline constexpr const char* kDebianIpaDictionary = "/var/lib/mecab/dic/ipadic-utf8";

/// Cuts Japanese into words with MeCab and the dictionary in a folder, as sacreBLEU's tokenizer `ja-mecab` does. With
/// the dictionary that sacreBLEU uses the name is sacreBLEU's, "ja-mecab-0.996-IPA". Others have the number of their
/// words in the name: Debian's has one word more (令和), so it is "ja-mecab-0.996-392127".
/// A segment may have at most 16 KiB, since MeCab's time grows with the square of a run of letters.
/// Throws Error{kUnsupported} if the library libmecab.so.2 is not installed, and Error{kIo} if it does not open the
/// folder as a dictionary in UTF-8. The tokenizer throws Error{kBadInput} for a segment that is too long.
OtherBleuTokenizer make_mecab_tokenizer(const std::filesystem::path& dictionary = kDebianIpaDictionary);

}  // namespace dragoman::evaluation
