#include "bpe_model.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

std::size_t index(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

/// The added token with each id, or null.
std::vector<const AddedToken*> added_by_id(const BpeDefinition& definition) {
  std::vector<const AddedToken*> added(definition.pieces.size(), nullptr);
  for (const AddedToken& token : definition.added_tokens) added[index(token.id)] = &token;
  return added;
}

std::string describe_character(std::string_view character) {
  const core::DecodedCharacter c = core::decode_utf8(character, 0);
  return c.valid ? fmt::format("U+{:04X}", static_cast<std::uint32_t>(c.code_point))
                 : fmt::format("byte 0x{:02X}", static_cast<unsigned char>(character[0]));
}

bool in_range(std::int32_t id, const BpeDefinition& definition) {
  return id >= 0 && index(id) < definition.pieces.size();
}

}  // namespace

BpeModel::BpeModel(const BpeDefinition& definition, const std::string& name)
    : definition_(&definition), all_(definition.pieces), vocabulary_(definition.pieces) {
  check_and_index(name);
  check_and_index_merges(name);
  index_characters();
  index_trie();
  find_whole_words();
}

void BpeModel::check_and_index(const std::string& name) {
  const BpeDefinition& d = *definition_;
  require(d.pieces.size() <= MergeTable::kMaxPieces && d.merges.size() <= MergeTable::kMaxMerges,
          ErrorCode::kUnsupported, "{}: {} pieces and {} merges are too many; at most {} and {} are supported", name,
          d.pieces.size(), d.merges.size(), MergeTable::kMaxPieces, MergeTable::kMaxMerges);
  for (const AddedToken& token : d.added_tokens)
    require(in_range(token.id, d), ErrorCode::kBadInput, "{}: the added token {} is not among the {} pieces", name,
            token.id, d.pieces.size());
  require(!d.unknown || in_range(*d.unknown, d), ErrorCode::kBadInput, "{}: the unknown token is not among the pieces",
          name);
  const auto added = added_by_id(d);
  for (std::size_t i = 0; i < d.pieces.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    require(!d.pieces[i].empty(), ErrorCode::kBadInput, "{}: piece {} is empty", name, id);
    require(core::find_invalid_utf8(d.pieces[i]) == std::string::npos, ErrorCode::kBadInput,
            "{}: piece {} is not valid UTF-8", name, id);
    require(all_.add(id), ErrorCode::kBadInput, "{}: '{}' is the text of two pieces, {} and {}", name, d.pieces[i],
            all_.find(d.pieces[i]), id);
    if (added[i] == nullptr || added[i]->in_vocabulary) vocabulary_.add(id);
  }
  for (int byte = 0; byte < 256 && d.byte_fallback; ++byte) {
    const std::string piece = piece_of_byte(static_cast<unsigned char>(byte));
    bytes_[static_cast<std::size_t>(byte)] = vocabulary_.find(piece);
    require(vocabulary_.find(piece) >= 0, ErrorCode::kBadInput, "{}: byte fallback is on, but the piece {} is missing",
            name, piece);
  }
}

void BpeModel::check_and_index_merges(const std::string& name) {
  const BpeDefinition& d = *definition_;
  const auto added = added_by_id(d);
  for (std::size_t rank = 0; rank < d.merges.size(); ++rank) {
    const Merge& merge = d.merges[rank];
    require(in_range(merge.left, d) && in_range(merge.right, d) && in_range(merge.result, d), ErrorCode::kBadInput,
            "{}: merge {} names a piece that does not exist", name, rank);
  }
  merges_ = MergeTable(d.merges);
  for (std::size_t rank = 0; rank < d.merges.size(); ++rank) {
    const Merge& merge = d.merges[rank];
    const std::string& result = d.pieces[index(merge.result)];
    require(d.pieces[index(merge.left)] + d.pieces[index(merge.right)] == result, ErrorCode::kBadInput,
            "{}: merge {} does not spell its result '{}'", name, rank, result);
    // Otherwise ordinary text could turn into a token that means something else.
    require(added[index(merge.result)] == nullptr, ErrorCode::kBadInput, "{}: merge {} spells the added token '{}'",
            name, rank, result);
    require(!d.byte_fallback || !byte_of_piece(result), ErrorCode::kBadInput, "{}: merge {} spells the byte piece '{}'",
            name, rank, result);
    require(merges_.rank(merge.left, merge.right) == rank, ErrorCode::kBadInput, "{}: merge {} repeats merge {}", name,
            rank, merges_.rank(merge.left, merge.right));
  }
}

void BpeModel::index_characters() {
  for (std::size_t i = 0; i < definition_->pieces.size(); ++i) {
    const std::string& piece = definition_->pieces[i];
    const core::DecodedCharacter c = core::decode_utf8(piece, 0);
    if (c.length == piece.size() && vocabulary_.find(piece) >= 0)
      characters_.set(c.code_point, static_cast<std::int32_t>(i));
  }
}

void BpeModel::index_trie() {
  const auto added = added_by_id(*definition_);
  std::vector<Trie::Entry> entries;
  for (std::size_t i = 0; i < definition_->pieces.size(); ++i) {
    const std::string& piece = definition_->pieces[i];
    const bool is_byte = definition_->byte_fallback && byte_of_piece(piece);
    if (added[i] == nullptr && !is_byte) entries.emplace_back(piece, static_cast<std::int32_t>(i));
  }
  trie_ = Trie(std::move(entries));
}

bool BpeModel::merges_to_itself(std::int32_t id, WordBuffers& buffers) const {
  buffers.word.clear();
  const std::string& piece = definition_->pieces[index(id)];
  for (std::size_t i = 0; i < piece.size();) {
    const core::DecodedCharacter c = core::decode_utf8(piece, i);
    const std::int32_t character = characters_.find(c.code_point);
    if (character < 0) return false;
    buffers.word.push_back({character, static_cast<std::uint32_t>(c.length)});
    i += c.length;
  }
  merge_exact(merges_, buffers.word, buffers.merge);
  return buffers.word.size() == 1 && buffers.word[0].id == id;
}

void BpeModel::find_whole_words() {
  WordBuffers buffers;
  whole_.assign(definition_->pieces.size(), false);
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    const std::string& piece = definition_->pieces[i];
    if (vocabulary_.find(piece) < 0) continue;
    whole_[i] = definition_->ignore_merges || merges_to_itself(static_cast<std::int32_t>(i), buffers);
  }
}

std::int32_t BpeModel::whole_word(std::string_view word) const noexcept {
  const std::int32_t id = vocabulary_.find(word);
  return id >= 0 && whole_[index(id)] ? id : -1;
}

void BpeModel::encode_word(std::string_view word, const EncodeOptions& options, WordBuffers& buffers) const {
  require(word.size() < 0xFFFFFFFF, ErrorCode::kBadInput,
          "a word of {} bytes is too long to be encoded; break the line", word.size());
  buffers.word.clear();
  const bool draws = options.mode == EncodingMode::kDropout && options.dropout > 0;
  if (options.mode == EncodingMode::kGreedy) return match_longest(word, buffers.word);
  if (!draws) {
    if (const std::int32_t id = whole_word(word); id >= 0) {
      buffers.word.push_back({id, static_cast<std::uint32_t>(word.size())});
      return;
    }
  }
  split_characters(word, buffers.word);
  if (!draws) return merge_exact(merges_, buffers.word, buffers.merge);
  merge_with_dropout(merges_, buffers.word, buffers.merge, [&] {
    return core::random_uniform(options.seed, options.line, buffers.draws++) < options.dropout;
  });
}

void BpeModel::encode_rare_word(std::string_view word, WordBuffers& buffers) const {
  if (definition_->ignore_merges) return encode_word(word, {}, buffers);
  split_characters(word, buffers.word);
  merge_exact(merges_, buffers.word, buffers.merge);
}

void BpeModel::split_characters(std::string_view word, std::vector<Symbol>& out) const {
  out.clear();
  for (std::size_t i = 0; i < word.size();) {
    const auto byte = static_cast<unsigned char>(word[i]);
    const core::DecodedCharacter c = byte < 0x80 ? core::DecodedCharacter{byte, 1, true} : core::decode_utf8(word, i);
    const std::int32_t id = c.valid ? characters_.find(c.code_point) : -1;
    if (id >= 0)
      out.push_back({id, static_cast<std::uint32_t>(c.length)});
    else
      add_unknown(word, i, c.length, out);
    i += c.length;
  }
}

void BpeModel::add_unknown(std::string_view word, std::size_t begin, std::size_t length,
                           std::vector<Symbol>& out) const {
  if (definition_->byte_fallback) {
    for (const char byte : word.substr(begin, length)) out.push_back({bytes_[static_cast<unsigned char>(byte)], 1});
    return;
  }
  require(
      definition_->unknown.has_value(), ErrorCode::kBadInput,
      "{} is not in the vocabulary, which has neither byte fallback nor an unknown token; learn one with byte fallback",
      describe_character(word.substr(begin)));
  const std::int32_t unknown = *definition_->unknown;
  if (definition_->fuse_unknown && !out.empty() && out.back().id == unknown)
    out.back().length += static_cast<std::uint32_t>(length);
  else
    out.push_back({unknown, static_cast<std::uint32_t>(length)});
}

void BpeModel::match_longest(std::string_view word, std::vector<Symbol>& out) const {
  for (std::size_t i = 0; i < word.size();) {
    const Trie::Match match = trie_.longest_prefix(word.substr(i));
    if (match.value >= 0) {
      out.push_back({match.value, static_cast<std::uint32_t>(match.length)});
      i += match.length;
    } else {
      const std::size_t length = core::decode_utf8(word, i).length;
      add_unknown(word, i, length, out);
      i += length;
    }
  }
}

}  // namespace dragoman::tokenizer
