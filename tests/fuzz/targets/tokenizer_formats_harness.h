#pragma once

#include "formats/byte_level.h"
#include "formats/subword_nmt.h"
#include "formats/youtokentome.h"
#include "growth.h"
#include "sentencepiece/sentencepiece_files.h"
#include "stored_zip.h"
#include "target.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/sentencepiece_ids.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::fuzz {

/// GPT-2's two files as one: the vocabulary, a NUL, the merges.
inline tokenizer::BpeDefinition read_both_gpt2_files(std::string_view bytes) {
  const std::size_t end = bytes.find('\0');
  const std::string_view merges = end == std::string_view::npos ? std::string_view() : bytes.substr(end + 1);
  return tokenizer::read_gpt2(bytes.substr(0, end), merges, "fuzz");
}

inline std::unique_ptr<tokenizer::Tokenizer> open_format(tokenizer::FileKind kind, std::string_view bytes) {
  using tokenizer::BpeTokenizer;
  using tokenizer::FileKind;
  if (kind == FileKind::kSentencePiece) return tokenizer::open_sentencepiece(bytes, "fuzz");
  if (kind == FileKind::kTiktoken) return std::make_unique<BpeTokenizer>(tokenizer::read_tiktoken(bytes, "fuzz", {}));
  if (kind == FileKind::kGpt2) return std::make_unique<BpeTokenizer>(read_both_gpt2_files(bytes));
  if (kind == FileKind::kYouTokenToMe)
    return std::make_unique<BpeTokenizer>(tokenizer::read_youtokentome(bytes, "fuzz"));
  return std::make_unique<BpeTokenizer>(tokenizer::read_codes(bytes, kind, "fuzz", {}));
}

inline void write_in_every_kind(const tokenizer::BpeDefinition& definition) {
  for (const auto write : {&tokenizer::write_codes, &tokenizer::write_tiktoken, &tokenizer::write_sentencepiece}) {
    accepts([&] { write(definition); });  // refused: what that kind has no way to write
  }
}

/// Turns the order of the pieces of a SentencePiece model round, and leaves some out.
inline void renumber(std::string_view bytes) {
  accepts([&] {
    tokenizer::RenumberedPieces list;
    for (const tokenizer::UnigramPiece& piece : tokenizer::sentencepiece_pieces(bytes, "fuzz"))
      if (piece.text.size() % 5 != 4) list.pieces.push_back({piece.text});
    std::ranges::reverse(list.pieces);
    list.pieces.push_back({"the river"});
    list.unknown = 0;
    const auto made = tokenizer::renumber_sentencepiece(bytes, list, "fuzz");
    const auto listed = static_cast<std::int32_t>(list.pieces.size());
    const auto tokenizer = tokenizer::open_sentencepiece(made.model, "made", listed);
    for (const std::int32_t id : tokenizer->encode("the river \xE2\x99\x95 1234")) tokenizer->piece(id);
  });
}

/// Reads the bytes as a tokenizer file of the kind and, if that works, uses it and writes it. True if it was one.
inline bool exercise_tokenizer_format(tokenizer::FileKind kind, std::string_view bytes) {
  using namespace tokenizer;
  return accepts([&] {
    const auto tokenizer = open_format(kind, bytes);
    const std::string letters(bytes.size(), 'a');  // a text as long as the file, which a long piece would match
    if (kind == FileKind::kSentencePiece) renumber(bytes);
    for (const EncodingMode mode : {EncodingMode::kExact, EncodingMode::kGreedy, EncodingMode::kDropout})
      for (const std::string_view text :
           {"", " the river  <s> don't 1234\n", "\xFF\xC3\xA9 e\xCC\x81\xE2\x96\x81 \r\n", letters.c_str()}) {
        // Refused: a character that such a vocabulary has no way to write, or a mode that it does not have.
        accepts([&] {
          tokenizer->decode(tokenizer->encode(text, {.mode = mode, .dropout = 0.3, .match_special_tokens = true}));
          tokenizer->encode_pieces(text, {.mode = mode});
        });
      }
    if (const auto* bpe = dynamic_cast<const BpeTokenizer*>(tokenizer.get())) write_in_every_kind(bpe->definition());
  });
}

/// The kind by the first byte, as the letters that begin the seeds say it.
inline bool exercise_any_tokenizer_format(std::string_view bytes) {
  using tokenizer::FileKind;
  if (bytes.empty()) return false;
  const FileKind kind = bytes[0] == 's'   ? FileKind::kSentencePiece
                        : bytes[0] == 't' ? FileKind::kTiktoken
                        : bytes[0] == 'g' ? FileKind::kGpt2
                        : bytes[0] == 'f' ? FileKind::kFastBpe
                        : bytes[0] == 'y' ? FileKind::kYouTokenToMe
                                          : FileKind::kSubwordNmt;
  return exercise_tokenizer_format(kind, bytes.substr(1));
}

/// A SentencePiece model, whose messages may stand in any order, with more pieces of its letters.
inline std::string many_sentencepieces(std::string_view seed, std::size_t size) {
  constexpr std::string_view kLetters = "thea";
  constexpr std::size_t kLength = 10;
  return std::string(seed) + parts(size, [&](std::size_t number) {
           std::string piece;
           for (std::size_t i = 0; i < kLength; ++i) piece += kLetters[number >> 2 * i & 3];
           return "\x0a\x13\x0a\x0a" + piece + "\x15" + little_endian(0xC1A00000, 4) + "\x18\x01";
         });
}

inline Target tokenizer_formats_target() {
  return {
      .name = "tokenizer_formats",
      .exercise = exercise_any_tokenizer_format,
      // The pieces of a text as long as the file are strings of 32 bytes for each letter, in a vector that doubles.
      .budget = {.bytes_per_byte = 192},
      .growths = {{"many pieces", "sentencepiece", many_sentencepieces}},
  };
}

}  // namespace dragoman::fuzz
