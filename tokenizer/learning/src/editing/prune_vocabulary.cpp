#include "base/index.h"
#include "dragoman/tokenizer/vocabulary_editing.h"
#include "editing/vocabulary_subset.h"

#include <optional>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

/// The merges that produce each piece.
class Derivations {
 public:
  explicit Derivations(const BpeDefinition& definition) : definition_(definition), makers_(definition.pieces.size()) {
    for (std::uint32_t rank = 0; rank < definition.merges.size(); ++rank) {
      const Merge& merge = definition.merges[rank];
      makers_[index(merge.result)].push_back(rank);
      ranks_.emplace(pair(merge.left, merge.right), rank);
    }
    for (std::size_t id = 0; id < definition.pieces.size(); ++id)
      ids_.emplace(definition.pieces[id], static_cast<std::int32_t>(id));
  }

  /// Returns the ranks of the merges that produce the piece. If there are several, returns only the one that encoding
  /// uses, or all if it uses none.
  std::vector<std::uint32_t> of(std::int32_t id) const {
    const auto& makers = makers_[index(id)];
    if (makers.size() < 2) return makers;
    const std::vector<std::int32_t> halves = encode_without(id);
    const auto last = halves.size() == 2 ? ranks_.find(pair(halves[0], halves[1])) : ranks_.end();
    const bool makes_it = last != ranks_.end() && definition_.merges[last->second].result == id;
    return makes_it ? std::vector{last->second} : makers;
  }

 private:
  static std::uint64_t pair(std::int32_t left, std::int32_t right) {
    return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint32_t>(right);
  }

  std::vector<std::int32_t> characters_of(std::string_view piece) const {
    const auto* words = std::get_if<SuffixedText>(&definition_.text);
    const std::string_view suffix = words == nullptr ? std::string_view() : words->suffix;
    std::vector<std::int32_t> symbols;
    for (std::size_t i = 0; i < piece.size();) {
      std::size_t length = core::decode_utf8(piece, i).length;
      if (!suffix.empty() && piece.substr(i + length) == suffix) length += suffix.size();
      const auto found = ids_.find(piece.substr(i, length));
      if (found == ids_.end()) return {};
      symbols.push_back(found->second);
      i += length;
    }
    return symbols;
  }

  /// Returns the symbols of the piece's text immediately before the last merge produces the piece.
  std::vector<std::int32_t> encode_without(std::int32_t id) const {
    std::vector<std::int32_t> symbols = characters_of(definition_.pieces[index(id)]);
    for (auto best = lowest_merge(symbols, id); best; best = lowest_merge(symbols, id)) {
      symbols[best->place] = definition_.merges[best->rank].result;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best->place) + 1);
    }
    return symbols;
  }

  struct Step {
    std::size_t place;
    std::uint32_t rank;
  };
  std::optional<Step> lowest_merge(const std::vector<std::int32_t>& symbols, std::int32_t except) const {
    std::optional<Step> best;
    for (std::size_t place = 0; place + 1 < symbols.size(); ++place) {
      const auto found = ranks_.find(pair(symbols[place], symbols[place + 1]));
      if (found == ranks_.end() || definition_.merges[found->second].result == except) continue;
      if (!best || found->second < best->rank) best = {place, found->second};
    }
    return best;
  }

  const BpeDefinition& definition_;
  std::vector<std::vector<std::uint32_t>> makers_;
  core::IntegerMap<std::uint64_t, std::uint32_t> ranks_;
  core::TextViewMap<std::int32_t> ids_;
};

/// Returns the pieces that encoding and decoding need, regardless of the text.
std::vector<bool> indispensable_pieces(const BpeDefinition& definition, bool drop_characters) {
  std::vector<bool> kept = unmerged_pieces(definition);
  if (drop_characters)
    for (std::size_t id = 0; id < kept.size(); ++id) {
      const std::string& piece = definition.pieces[id];
      kept[id] = byte_of_piece(piece).has_value() || (definition.metaspace() != nullptr && piece == kWordMark);
      for (const NormalizerStep& step : definition.normalizer())
        kept[id] = kept[id] || (!step.content.empty() && step.content.find(piece) != std::string::npos);
    }
  for (const AddedToken& token : definition.added_tokens) kept[index(token.id)] = true;
  if (definition.unknown) kept[index(*definition.unknown)] = true;
  return kept;
}

/// Adds the pieces from which the kept pieces are built.
void close_over_merges(const BpeDefinition& definition, std::vector<bool>& kept) {
  const Derivations derivations(definition);
  std::vector<std::int32_t> open;
  for (std::size_t id = 0; id < kept.size(); ++id)
    if (kept[id]) open.push_back(static_cast<std::int32_t>(id));
  while (!open.empty()) {
    const std::int32_t id = open.back();
    open.pop_back();
    for (const std::uint32_t rank : derivations.of(id))
      for (const std::int32_t part : {definition.merges[rank].left, definition.merges[rank].right})
        if (!kept[index(part)]) {
          kept[index(part)] = true;
          open.push_back(part);
        }
  }
}

}  // namespace

VocabularyEdit prune(const BpeDefinition& definition, std::span<const std::uint64_t> counts,
                     const PruneOptions& options) {
  check_editable(definition);
  require(counts.size() == definition.pieces.size(), ErrorCode::kInvalidArgument,
          "there are {} counts for {} pieces; count with the tokenizer that is to be pruned", counts.size(),
          definition.pieces.size());
  const DecoderSteps* decoder = definition.decoder_steps();
  const bool bytes_come_back = definition.byte_fallback() && decoder != nullptr && decoder->byte_fallback;
  require(!options.drop_characters || bytes_come_back, ErrorCode::kInvalidArgument,
          "characters cannot be dropped from a vocabulary without byte fallback: they would be lost");
  std::vector<bool> kept = indispensable_pieces(definition, options.drop_characters);
  for (std::size_t id = 0; id < kept.size(); ++id) kept[id] = kept[id] || counts[id] >= options.min_count;
  close_over_merges(definition, kept);
  return subset(definition, kept);
}

}  // namespace dragoman::tokenizer
