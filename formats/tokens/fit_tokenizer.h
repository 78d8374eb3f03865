#pragma once

#include "tokens/vocabulary.h"

#include <filesystem>

#include <dragoman/formats/model_folder.h>

namespace dragoman::imports {

/// The pieces of a vocabulary that mean something to a model, by id.
struct SpecialPieces {
  std::int32_t unknown = 0;
  std::int32_t end = 0;
  std::optional<std::int32_t> begin = {};
  /// Made up: the files have no such piece.
  std::optional<std::int32_t> start = {};
};

/// The tokenizer of a file, a SentencePiece model or a tokenizer.json, with the ids of the vocabulary. Error{kBadInput}
/// if they do not belong together, Error{kUnsupported} for a file of another kind.
tokenizer::TokenizerSpec fit_tokenizer(const std::filesystem::path& file, const Vocabulary& vocabulary,
                                       const SpecialPieces& special);

/// A tokenizer that takes pieces with spaces between them, and gives such: for models that came without one.
tokenizer::TokenizerSpec piece_tokenizer(const Vocabulary& vocabulary, const SpecialPieces& special);

/// Where the tokenizers of a folder are, if it has any: one for both sides, or one for each.
struct TokenizerPaths {
  std::filesystem::path joint{};
  std::filesystem::path source{};
  std::filesystem::path target{};
  bool empty() const { return joint.empty() && source.empty() && target.empty(); }
  const std::filesystem::path& of_source() const { return source.empty() ? joint : source; }
  const std::filesystem::path& of_target() const { return target.empty() ? joint : target; }
};

/// By the names that toolkits and their users give them.
TokenizerPaths find_tokenizers(const std::filesystem::path& folder);

}  // namespace dragoman::imports
