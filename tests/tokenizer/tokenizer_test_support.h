#pragma once

#include "test_data.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::testing {

/// Learns from lines that a test made up.
inline tokenizer::BpeTokenizer learn_from(const std::string& text, const tokenizer::LearnOptions& options,
                                          const core::LogSink& log = {}) {
  const TemporaryFolder folder;
  core::write_file(folder / "corpus.txt", text);
  return tokenizer::learn_bpe({folder / "corpus.txt"}, options, {}, log);
}

/// A vocabulary without word marks or bytes, from single characters and merges written as pairs of pieces. Only for
/// text of those characters.
inline tokenizer::BpeTokenizer make_plain_bpe(const std::string& characters,
                                              const std::vector<std::pair<std::string, std::string>>& merges) {
  tokenizer::BpeDefinition definition;
  for (const char c : characters) definition.pieces.emplace_back(1, c);
  const auto id_of = [&](const std::string& piece) {
    for (std::size_t id = 0; id < definition.pieces.size(); ++id)
      if (definition.pieces[id] == piece) return static_cast<std::int32_t>(id);
    definition.pieces.push_back(piece);
    return static_cast<std::int32_t>(definition.pieces.size() - 1);
  };
  for (const auto& [left, right] : merges) {
    const std::int32_t left_id = id_of(left);
    const std::int32_t right_id = id_of(right);
    definition.merges.push_back({left_id, right_id, id_of(left + right)});
  }
  return tokenizer::BpeTokenizer(std::move(definition));
}

inline std::vector<std::string> pieces_of(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                          const tokenizer::EncodeOptions& options = {}) {
  std::vector<std::string> pieces;
  for (const std::int32_t id : tokenizer.encode(text, options)) pieces.emplace_back(tokenizer.piece(id));
  return pieces;
}

inline std::string random_text(std::mt19937& random, std::string_view alphabet, std::size_t max_length) {
  std::string text(random() % (max_length + 1), ' ');
  for (char& c : text) c = alphabet[random() % alphabet.size()];
  return text;
}

}  // namespace dragoman::testing
