#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/imports/importers.h>

namespace dragoman::imports {

/// The kind of tokenizer for models that came without one: texts, including decoded ones, consist of pieces separated
/// by spaces. Runs of spaces count as one. A word that is not a piece becomes the unknown one. The file is JSON with
/// two keys: `pieces`, a list by id, and `special`, the ids of pieces that are not text, starting with the unknown
/// piece.
inline constexpr const char* kPieceTokenizer = "pieces";

TokenizerEntry piece_tokenizer_entry();
std::string write_pieces(const std::vector<std::string>& pieces, std::span<const std::int32_t> special);

}  // namespace dragoman::imports
