#include "dragoman/corpus/characters.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::corpus {
namespace {

enum Kind : std::uint8_t { kOther, kLetter, kDigit, kSpace, kControl };

struct CharacterClass {
  Kind kind = kOther;
  bool is_word = false;  ///< each character is a word
  Script script = 0;
};

Script script_of(char32_t c) {
  UErrorCode error = U_ZERO_ERROR;
  const UScriptCode code = uscript_getScript(static_cast<UChar32>(c), &error);
  if (U_FAILURE(error) != 0 || code <= USCRIPT_INHERITED || code > 255) return 0;
  if (code == USCRIPT_HIRAGANA || code == USCRIPT_KATAKANA || code == USCRIPT_BOPOMOFO) return USCRIPT_HAN;
  return static_cast<Script>(code);
}

bool has_no_spaces(Script script) {
  constexpr std::array kUnspaced = {USCRIPT_HAN,   USCRIPT_THAI,    USCRIPT_LAO,
                                    USCRIPT_KHMER, USCRIPT_MYANMAR, USCRIPT_TIBETAN};
  return std::ranges::find(kUnspaced, static_cast<UScriptCode>(script)) != kUnspaced.end();
}

CharacterClass classify(char32_t c) {
  const auto code_point = static_cast<UChar32>(c);
  if (core::is_white_space(c)) return {.kind = kSpace};
  if (c == core::kReplacementCharacter) return {.kind = kControl};
  const auto mask = U_GET_GC_MASK(code_point);
  if ((mask & (U_GC_L_MASK | U_GC_M_MASK)) != 0) {
    const Script script = script_of(c);
    const bool alone = (mask & U_GC_L_MASK) != 0 && has_no_spaces(script);
    return {.kind = kLetter, .is_word = alone, .script = script};
  }
  if ((mask & U_GC_N_MASK) != 0) return {.kind = kDigit};
  if ((mask & (U_GC_CC_MASK | U_GC_CN_MASK | U_GC_CS_MASK | U_GC_CO_MASK)) != 0) return {.kind = kControl};
  return {};
}

/// Returns the classes of the basic multilingual plane, which holds nearly all text. Without this table, ICU's look-ups
/// would dominate the running time.
const std::vector<CharacterClass>& basic_plane() {
  static const std::vector<CharacterClass> classes = [] {
    std::vector<CharacterClass> all(0x10000);
    for (char32_t c = 0; c < 0x10000; ++c) all[c] = classify(c);
    return all;
  }();
  return classes;
}

}  // namespace

TextProfile profile_of(std::string_view text) {
  const std::vector<CharacterClass>& basic = basic_plane();
  TextProfile profile;
  std::uint32_t word = 0;
  const auto end_word = [&] {
    if (word == 0) return;
    ++profile.words;
    profile.longest_word = std::max(profile.longest_word, word);
    word = 0;
  };
  for (std::size_t i = 0; i < text.size();) {
    char32_t c = static_cast<unsigned char>(text[i]);
    bool valid = true;
    if (c < 0x80) {
      ++i;
    } else {
      const core::DecodedCharacter decoded = core::decode_utf8(text, i);
      c = decoded.code_point;
      valid = decoded.valid;
      i += decoded.length;
    }
    const CharacterClass kind = !valid ? CharacterClass{.kind = kControl} : c < 0x10000 ? basic[c] : classify(c);
    ++profile.characters;
    profile.letters += kind.kind == kLetter ? 1 : 0;
    profile.digits += kind.kind == kDigit ? 1 : 0;
    profile.controls += kind.kind == kControl ? 1 : 0;
    if (kind.script != 0) ++profile.scripts[kind.script];
    if (kind.kind == kSpace) {
      ++profile.spaces;
      end_word();
    } else if (kind.is_word) {
      end_word();
      word = 1;
      end_word();
    } else {
      ++word;
    }
  }
  end_word();
  return profile;
}

Script main_script(const std::array<std::uint64_t, 256>& letters) {
  const auto most = std::ranges::max_element(letters);
  return *most == 0 ? 0 : static_cast<Script>(most - letters.begin());
}

std::string name_of_script(Script script) {
  if (script == 0) return "none";
  if (script == USCRIPT_HAN) return "Han and kana";
  const char* const name = uscript_getName(static_cast<UScriptCode>(script));
  return name == nullptr ? "none" : name;
}

Script find_script(const std::string& name) {
  const std::int32_t code = u_getPropertyValueEnum(UCHAR_SCRIPT, name.c_str());
  if (code <= USCRIPT_INHERITED || code > 255) return 0;
  if (code == USCRIPT_HIRAGANA || code == USCRIPT_KATAKANA || code == USCRIPT_BOPOMOFO) return USCRIPT_HAN;
  return static_cast<Script>(code);
}

}  // namespace dragoman::corpus
