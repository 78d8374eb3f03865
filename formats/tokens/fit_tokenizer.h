#pragma once

#include "tokens/vocabulary.h"

#include <filesystem>

#include <dragoman/formats/model_folder.h>

namespace dragoman::imports {

/// The ids of the pieces with a special meaning for a model.
struct SpecialPieces {
  std::int32_t unknown = 0;
  std::int32_t end = 0;
  std::optional<std::int32_t> begin = {};
  /// Added by the importer: the files have no such piece.
  std::optional<std::int32_t> start = {};
};

/// Returns the tokenizer of a file, a SentencePiece model or a tokenizer.json, with the ids of the vocabulary. Throws
/// Error{kBadInput} if they do not belong together, and Error{kUnsupported} for a file of another kind.
tokenizer::TokenizerSpec fit_tokenizer(const std::filesystem::path& file, const Vocabulary& vocabulary,
                                       const SpecialPieces& special);

/// Returns a tokenizer for texts that consist of pieces separated by spaces, for models that came without a tokenizer.
tokenizer::TokenizerSpec piece_tokenizer(const Vocabulary& vocabulary, const SpecialPieces& special);

/// The paths of the tokenizers of a folder, if it has any: one for both sides, or one for each side.
struct TokenizerPaths {
  std::filesystem::path joint{};
  std::filesystem::path source{};
  std::filesystem::path target{};
  bool empty() const { return joint.empty() && source.empty() && target.empty(); }
  const std::filesystem::path& of_source() const { return source.empty() ? joint : source; }
  const std::filesystem::path& of_target() const { return target.empty() ? joint : target; }
};

/// Finds tokenizers by the names that toolkits and their users give them.
TokenizerPaths find_tokenizers(const std::filesystem::path& folder);

}  // namespace dragoman::imports
