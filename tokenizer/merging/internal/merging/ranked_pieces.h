#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// A vocabulary in which any two neighbours merge whose joint text is a piece, the best rank first and then the
/// leftmost (tiktoken, SentencePiece).
struct RankedPieces {
  std::vector<std::string> texts;                ///< by id
  std::vector<std::int64_t> ranks;               ///< by id; a lower rank merges first. Negative: no merge makes it
  std::vector<std::vector<std::int32_t>> parts;  ///< by id: the pieces that its merging begins with; empty: unreachable
};

/// The explicit merges that give the same segmentation of every text, by rank.
///
/// A piece is made in a text only if no merge crosses its ends, and then what happens inside happens in the same order
/// as in the piece alone; so the last merge of the piece alone is the only one that ever makes it, and a piece that
/// does not become one piece alone is never made. Merges of pieces that share a rank are put into an order that has the
/// effect of "the leftmost first". Throws Error{kUnsupported}, beginning with `name`, if there is no such order.
std::vector<Merge> explicit_merges(const RankedPieces& pieces, const std::string& name);

/// The merges of the definition that are ever applied when a text is encoded exactly, by the same argument.
std::vector<Merge> reachable_merges(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
