#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/imports/importers.h>

namespace dragoman::imports {

/// The kind of tokenizer for models that came without one: a text is pieces with spaces between them, and so is what it
/// decodes to. Runs of spaces count as one; what is no piece is the unknown one. The file is JSON: `pieces`, a list by
/// id, and `special`, ids of those that are no text, of which the first is the unknown piece.
inline constexpr const char* kPieceTokenizer = "pieces";

TokenizerEntry piece_tokenizer_entry();
std::string write_pieces(const std::vector<std::string>& pieces, std::span<const std::int32_t> special);

}  // namespace dragoman::imports
