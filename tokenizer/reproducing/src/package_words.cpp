#include "reproducing/package_words.h"

#include "base/character_table.h"
#include "base/characters.h"
#include "counting/collect_words.h"
#include "pre_tokenizing/pre_tokenizer.h"
#include "python_text.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

std::string text_of(char32_t character) {
  std::string text;
  core::append_utf8(text, character);
  return text;
}

void require_utf8(std::string_view word) {
  const std::size_t place = core::find_invalid_utf8(word);
  if (place == std::string_view::npos) return;
  std::string shown(word.substr(0, 100));
  core::replace_invalid_utf8(shown);
  core::fail(
      core::ErrorCode::kBadInput,
      "the word '{}' is not valid UTF-8 at its byte {}; the program that is to be reproduced takes nothing else: "
      "--invalid-utf8 fail says where in the text it stands, --invalid-utf8 replace puts U+FFFD in its place",
      shown, place);
}

/// Ids of characters, with or without a suffix, which are named when they are first asked for.
class CharacterSymbols {
 public:
  CharacterSymbols(std::string suffix, SymbolNames& names) : suffix_(std::move(suffix)), names_(names) {}

  std::int32_t id(char32_t character) {
    std::int32_t id = ids_.find(character);
    if (id < 0) ids_.set(character, id = names_.id(text_of(character) + suffix_));
    return id;
  }

 private:
  std::string suffix_;
  SymbolNames& names_;
  CharacterTable ids_;
};

/// GPT-2's character for each byte.
std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> characters{};
  for (std::size_t byte = 0; byte < characters.size(); ++byte)
    characters[byte] = core::decode_utf8(to_byte_alphabet(std::string(1, static_cast<char>(byte))), 0).code_point;
  return characters;
}

/// visit(character) for each that `tokenizers` sees.
template <class Visit>
void for_each_symbol(std::string_view word, bool byte_level, Visit&& visit) {
  static const std::array<char32_t, 256> kOfBytes = byte_characters();
  if (byte_level) {
    for (const char byte : word) visit(kOfBytes[static_cast<unsigned char>(byte)]);
  } else {
    for_each_character(word, false, [&](char32_t character, bool) { visit(character); });
  }
}

}  // namespace

SymbolWords subword_nmt_words(const WordCounts& words, SymbolNames& names) {
  CharacterSymbols inner({}, names);
  CharacterSymbols final("</w>", names);
  SymbolWords laid_out;
  std::vector<std::int32_t> symbols;
  char32_t last = 0;
  const auto finish = [&](std::uint64_t count) {
    if (symbols.empty()) return;
    symbols.back() = final.id(last);
    laid_out.add(symbols, count);
    symbols.clear();
  };
  words.for_each([&](std::string_view word, std::uint64_t count) {
    require_utf8(word);
    for_each_character(word, false, [&](char32_t character, bool) {
      if (character == '\r') return finish(count);
      last = character;
      symbols.push_back(inner.id(character));
      if (ends_python_line(character)) finish(count);
    });
    finish(count);
  });
  return laid_out;
}

WordCounts split_words(const WordCounts& words, const BpeDefinition& definition, ThreadArena& arena) {
  const PreTokenizer pre_tokenizer(definition);
  const std::vector<WordCount> raw = words.by_count();
  ThreadCounts split;
  split.for_each_block(arena, raw.size(), [&](WordCounts& counts, std::size_t i) {
    pre_tokenizer.for_each_pre_token(raw[i].word, false, false,
                                     [&](const PreToken& token) { counts.add(token.text, raw[i].count); });
  });
  return split.join(arena);
}

std::vector<CharacterCount> count_characters(const WordCounts& words, bool byte_level) {
  CharacterCounts characters;
  words.for_each([&](std::string_view word, std::uint64_t count) {
    if (!byte_level) require_utf8(word);
    for_each_symbol(word, byte_level, [&](char32_t character) { characters.add(character, count); });
  });
  return characters.take_sorted();
}

SymbolWords lay_out_words(const WordCounts& words, bool byte_level, const std::vector<char32_t>& alphabet,
                          std::string_view suffix, SymbolNames& names) {
  const std::set<char32_t> sorted(alphabet.begin(), alphabet.end());
  CharacterTable ids;
  for (const char32_t character : sorted) ids.set(character, names.id(text_of(character)));
  std::set<char32_t> last_characters;
  SymbolWords laid_out;
  std::vector<std::int32_t> symbols;
  std::vector<std::pair<std::uint32_t, char32_t>> ends;
  words.for_each([&](std::string_view word, std::uint64_t count) {
    symbols.clear();
    char32_t last = 0;
    for_each_symbol(word, byte_level, [&](char32_t character) {
      last = character;
      if (ids.find(character) >= 0) symbols.push_back(ids.find(character));
    });
    if (!suffix.empty() && ids.find(last) >= 0) {
      last_characters.insert(last);
      ends.emplace_back(laid_out.size(), last);
    }
    laid_out.add(symbols, count);
  });
  CharacterSymbols with_suffix(std::string(suffix), names);
  for (const char32_t character : last_characters) with_suffix.id(character);
  for (const auto& [word, character] : ends) {
    symbols.assign(laid_out.symbols(word).begin(), laid_out.symbols(word).end());
    symbols.back() = with_suffix.id(character);
    laid_out.replace(word, symbols);
  }
  return laid_out;
}

}  // namespace dragoman::tokenizer
