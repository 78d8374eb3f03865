#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// A vocabulary in which any two neighbours merge if their joint text is a piece, the best rank first and then the
/// leftmost (tiktoken, SentencePiece).
struct RankedPieces {
  std::vector<std::string> texts;   ///< by id
  std::vector<std::int64_t> ranks;  ///< by id; a lower rank merges first. Negative: no merge produces it
  /// By id: the pieces from which its merging starts. Empty: unreachable.
  std::vector<std::vector<std::int32_t>> parts;
};

/// Returns explicit merges, by rank, that give the same segmentation of every text.
///
/// A piece is produced in a text only if no merge crosses its ends. The merges inside then happen in the same order as
/// in the piece alone. The last merge of the piece alone is therefore the only merge that ever produces it, and a piece
/// that does not become one piece alone is never produced. Merges of pieces with equal ranks are ordered such that the
/// effect is "leftmost first". Throws Error{kUnsupported} that begins with `name` if there is no such order.
std::vector<Merge> explicit_merges(const RankedPieces& pieces, const std::string& name);

/// The longest piece, in characters, that reachable_merges() accepts: its time is quadratic in a piece.
inline constexpr std::size_t kLongestMergedPiece = 4096;

/// Returns the merges of the definition that exact encoding of some text applies, by the same argument. Throws
/// Error{kUnsupported} if a piece is longer than kLongestMergedPiece.
std::vector<Merge> reachable_merges(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
