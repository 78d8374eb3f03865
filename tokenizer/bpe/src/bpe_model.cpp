#include "bpe/bpe_model.h"

#include "base/index.h"
#include "merging/short_word_merge.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/random.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

/// The bytes that symbols cover, and the positions of symbols, are stored in 32 bits.
constexpr std::size_t kMaxWordBytes = 0xFFFFFFFE;

/// Returns for each id the added token, or nullptr.
std::vector<const AddedToken*> added_by_id(const BpeDefinition& definition) {
  std::vector<const AddedToken*> added(definition.pieces.size(), nullptr);
  for (const AddedToken& token : definition.added_tokens) added[index(token.id)] = &token;
  return added;
}

std::vector<std::string> raw_pieces(const BpeDefinition& definition) {
  std::vector<std::string> raw;
  if (!std::holds_alternative<ByteLevelText>(definition.text)) return raw;
  for (const std::string& piece : definition.pieces) raw.push_back(from_byte_alphabet(piece).value_or(""));
  return raw;
}

bool in_range(std::int32_t id, const BpeDefinition& definition) {
  return id >= 0 && index(id) < definition.pieces.size();
}

}  // namespace

BpeModel::BpeModel(const BpeDefinition& definition, const std::string& name)
    : definition_(&definition),
      byte_level_(std::holds_alternative<ByteLevelText>(definition.text)),
      byte_fallback_(definition.byte_fallback()),
      all_(definition.pieces),
      raw_(raw_pieces(definition)),
      vocabulary_(byte_level_ ? raw_ : definition.pieces) {
  check_and_index(name);
  check_and_index_merges(name);
  describe_end_of_word(name);
  index_expansions(name);
  if (byte_level_)
    index_byte_alphabet();
  else
    index_characters();
  if (!suffix_.empty() && !suffix_is_attached_) index_final_forms();
  const bool in_order = !rounds_matter(definition.merges, definition.pieces.size());
  merge_in_rounds_ = definition.codes() != nullptr && !in_order;
  merges_together_ =
      in_order && (byte_level_ || !definition.ignore_merges) && suffix_.empty() && definition.unused.empty();
}

void BpeModel::describe_end_of_word(const std::string& name) {
  const auto* text = std::get_if<SuffixedText>(&definition_->text);
  if (text == nullptr) return;
  require(!text->suffix.empty(), ErrorCode::kBadInput, "{}: the end-of-word suffix is empty", name);
  suffix_ = text->suffix;
  suffix_is_attached_ = !text->codes || !text->codes->separate_suffix;
}

void BpeModel::index_expansions(const std::string& name) {
  for (const auto& [id, parts] : definition_->unused) add_expansion(id, parts, name);
  const Codes* codes = definition_->codes();
  if (codes == nullptr || !codes->expansions) return;
  for (const auto& [id, parts] : *codes->expansions) add_expansion(id, parts, name);
}

void BpeModel::add_expansion(std::int32_t id, const std::vector<std::int32_t>& parts, const std::string& name) {
  const auto check = [&](std::int32_t piece) {
    require(in_range(piece, *definition_), ErrorCode::kBadInput,
            "{}: an expansion names the piece {} that does not exist", name, piece);
  };
  check(id);
  std::ranges::for_each(parts, check);
  if (parts.empty()) return;
  expansions_.resize(definition_->pieces.size());
  expansions_[index(id)] = parts;
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
  std::vector<bool> unused(d.pieces.size(), false);
  for (const auto& [id, parts] : d.unused) {
    require(in_range(id, d), ErrorCode::kBadInput, "{}: the unused piece {} is not among the {} pieces", name, id,
            d.pieces.size());
    unused[index(id)] = true;
  }
  core::StopCheck check("opening a tokenizer");
  for (std::size_t i = 0; i < d.pieces.size(); ++i) {
    check(200);
    const auto id = static_cast<std::int32_t>(i);
    require(!d.pieces[i].empty(), ErrorCode::kBadInput, "{}: piece {} is empty", name, id);
    require(core::find_invalid_utf8(d.pieces[i]) == std::string::npos, ErrorCode::kBadInput,
            "{}: piece {} is not valid UTF-8", name, id);
    require(all_.add(id), ErrorCode::kBadInput, "{}: {} is the text of two pieces, {} and {}", name,
            Quoted{d.pieces[i]}, all_.find(d.pieces[i]), id);
    const bool listed = !unused[i] && (added[i] == nullptr || added[i]->in_vocabulary);
    if (listed && (!byte_level_ || !raw_[i].empty())) vocabulary_.add(id);
  }
  for (std::size_t byte = 0; byte < bytes_.size() && byte_fallback_; ++byte)
    bytes_[byte] = vocabulary_.find(piece_of_byte(static_cast<unsigned char>(byte)));
  has_all_bytes_ = byte_fallback_ && std::ranges::find(bytes_, -1) == bytes_.end();
}

void BpeModel::check_and_index_merges(const std::string& name) {
  const BpeDefinition& d = *definition_;
  const auto added = added_by_id(d);
  core::StopCheck check("opening a tokenizer");
  for (std::size_t rank = 0; rank < d.merges.size(); ++rank) {
    check(10);
    const Merge& merge = d.merges[rank];
    require(in_range(merge.left, d) && in_range(merge.right, d) && in_range(merge.result, d), ErrorCode::kBadInput,
            "{}: merge {} names a piece that does not exist", name, rank);
  }
  merges_ = MergeTable(d.merges);
  for (std::size_t rank = 0; rank < d.merges.size(); ++rank) {
    check(200);
    const Merge& merge = d.merges[rank];
    const std::string& result = d.pieces[index(merge.result)];
    const std::string& left = d.pieces[index(merge.left)];
    const std::string& right = d.pieces[index(merge.right)];
    require(left.size() + right.size() == result.size() && result.starts_with(left) && result.ends_with(right),
            ErrorCode::kBadInput, "{}: merge {} does not spell its result {}", name, rank, Quoted{result});
    // Otherwise ordinary text could become a token with a special meaning.
    require(added[index(merge.result)] == nullptr, ErrorCode::kBadInput, "{}: merge {} spells the added token {}", name,
            rank, Quoted{result});
    require(!byte_fallback_ || !byte_of_piece(result), ErrorCode::kBadInput, "{}: merge {} spells the byte piece {}",
            name, rank, Quoted{result});
    require(merges_.rank(merge.left, merge.right) == rank, ErrorCode::kBadInput, "{}: merge {} repeats merge {}", name,
            rank, merges_.rank(merge.left, merge.right));
  }
}

void BpeModel::index_characters() {
  for (std::size_t i = 0; i < definition_->pieces.size(); ++i) {
    const std::string& piece = definition_->pieces[i];
    const core::DecodedCharacter c = core::decode_utf8(piece, 0);
    const bool is_character = c.length == piece.size();
    const bool is_final = suffix_is_attached_ && std::string_view(piece).substr(c.length) == suffix_;
    if ((!is_character && !is_final) || vocabulary_.find(piece) < 0) continue;
    if (is_character) characters_.set(c.code_point, static_cast<std::int32_t>(i));
    if (is_final) final_characters_.set(c.code_point, static_cast<std::int32_t>(i));
  }
}

void BpeModel::index_byte_alphabet() {
  for (std::size_t byte = 0; byte < 256; ++byte)
    bytes_[byte] = vocabulary_.find(std::string(1, static_cast<char>(byte)));
}

void BpeModel::index_final_forms() {
  end_of_word_ = vocabulary_.find(suffix_);
  for (const std::string& piece : definition_->pieces) final_forms_.push_back(vocabulary_.find(piece + suffix_));
}

Trie BpeModel::make_trie() const {
  const auto added = added_by_id(*definition_);
  std::vector<Trie::Entry> entries;
  for (std::size_t i = 0; i < definition_->pieces.size(); ++i) {
    const std::string& piece = definition_->pieces[i];
    const bool is_byte = byte_fallback_ && byte_of_piece(piece);
    const std::string& text = byte_level_ ? raw_[i] : piece;
    if (added[i] == nullptr && !is_byte && vocabulary_.find(text) >= 0)
      entries.emplace_back(text, static_cast<std::int32_t>(i));
  }
  return Trie(std::move(entries));
}

bool BpeModel::merges_to_itself(std::int32_t id, WordBuffers& buffers) const {
  std::string_view piece = byte_level_ ? raw_[index(id)] : definition_->pieces[index(id)];
  if (!piece.ends_with(suffix_)) return false;
  piece.remove_suffix(suffix_.size());
  if (piece.empty() || !can_spell(piece)) return false;
  split_characters(piece, buffers.word);
  merge(buffers);
  return buffers.word.size() == 1 && buffers.word[0].id == id;
}

bool BpeModel::can_spell(std::string_view word) const noexcept {
  for (std::size_t i = 0; i < word.size();) {
    const core::DecodedCharacter c = core::decode_utf8(word, i);
    const std::size_t length = byte_level_ ? 1 : c.length;
    const bool last = suffix_is_attached_ && i + length == word.size();
    const std::int32_t id = byte_level_ ? bytes_[static_cast<unsigned char>(word[i])]
                            : !c.valid  ? -1
                            : last      ? final_characters_.find(c.code_point)
                                        : characters_.find(c.code_point);
    if (id < 0) return false;
    i += length;
  }
  return true;
}

std::vector<bool> BpeModel::find_whole_words() const {
  WordBuffers buffers;
  std::vector<bool> whole(definition_->pieces.size(), false);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::string& piece = definition_->pieces[i];
    if (vocabulary_.find(byte_level_ ? raw_[i] : piece) < 0) continue;
    whole[i] = merges_to_itself(static_cast<std::int32_t>(i), buffers);
  }
  return whole;
}

std::int32_t BpeModel::whole_word(std::string_view word, WordBuffers& buffers) const {
  if (definition_->ignore_merges) return vocabulary_.find(word);  // without the suffix, as in the `tokenizers` library
  if (!suffix_.empty()) {
    buffers.suffixed.assign(word).append(suffix_);
    word = buffers.suffixed;
  }
  const std::int32_t id = vocabulary_.find(word);
  if (id < 0) return -1;
  const std::vector<bool>& whole = whole_.get([this] { return find_whole_words(); });
  return whole[index(id)] ? id : -1;
}

void BpeModel::encode_word(std::string_view word, const EncodeOptions& options, WordBuffers& buffers) const {
  require(word.size() <= kMaxWordBytes, ErrorCode::kBadInput,
          "a word of {} bytes is too long to be encoded; break the line", word.size());
  if (options.mode == EncodingMode::kSample)
    core::fail(ErrorCode::kUnsupported,
               "segmentations are drawn by their probability, and merges give none; use BPE-dropout");
  buffers.word.clear();
  const bool draws = options.mode == EncodingMode::kDropout && options.dropout > 0;
  if (options.mode == EncodingMode::kGreedy) {
    match_longest(word, buffers.word);
  } else if (const std::int32_t id = draws ? -1 : whole_word(word, buffers); id >= 0) {
    buffers.word.push_back({id, static_cast<std::uint32_t>(word.size())});
  } else {
    split_characters(word, buffers.word);
    if (draws)
      merge_with_dropout(merges_, buffers.word, buffers.merge, [&] {
        return core::random_uniform(options.seed, options.line, buffers.draws++) < options.dropout;
      });
    else
      merge(buffers);
    if (end_of_word_ >= 0) drop_end_of_word(buffers.word);
  }
  if (!expansions_.empty()) expand(buffers);
}

void BpeModel::merge(WordBuffers& buffers) const {
  if (merge_in_rounds_) return merge_in_rounds(merges_, buffers.word, buffers.merge);
  if (buffers.word.size() > kShortWord && merge_linear(buffers.word)) return;
  merge_exact(merges_, buffers.word, buffers.merge);
}

bool BpeModel::merge_linear(std::vector<Symbol>& word) const {
  const auto make = [this] { return LinearMerger(definition_->merges, merges_, definition_->pieces.size()); };
  return linear_.get(make).merge(word).has_value();
}

/// Removes a suffix that merged with nothing. The piece before it takes its final form.
void BpeModel::drop_end_of_word(std::vector<Symbol>& out) const {
  if (out.size() < 2 || out.back().id != end_of_word_) return;
  out.pop_back();
  const std::int32_t final_form = final_forms_[index(out.back().id)];
  if (final_form >= 0) out.back().id = final_form;
}

void BpeModel::expand(WordBuffers& buffers) const {
  buffers.expanded.clear();
  core::StopCheck check("encoding a text");
  for (const Symbol& symbol : buffers.word) {
    check();
    const auto& parts = expansions_[index(symbol.id)];
    if (parts.empty()) buffers.expanded.push_back(symbol);
    for (const std::int32_t part : parts) {
      const std::string& piece = definition_->pieces[index(part)];
      const std::size_t end_of_word = piece.ends_with(suffix_) ? suffix_.size() : 0;
      buffers.expanded.push_back({part, static_cast<std::uint32_t>(piece.size() - end_of_word)});
    }
  }
  buffers.word.swap(buffers.expanded);
}

void BpeModel::encode_rare_word(std::string_view word, WordBuffers& buffers) const {
  const bool special = definition_->ignore_merges || end_of_word_ >= 0 || !expansions_.empty();
  if (special || word.size() > kMaxWordBytes) return encode_word(word, {}, buffers);
  split_characters(word, buffers.word);
  merge(buffers);
}

void BpeModel::match_longest(std::string_view word, std::vector<Symbol>& out) const {
  require(suffix_.empty(), ErrorCode::kUnsupported,
          "greedy encoding is not defined for a vocabulary that marks the ends of words; use exact");
  const Trie& trie = trie_.get([this] { return make_trie(); });
  core::StopCheck check("encoding a text");
  for (std::size_t i = 0; i < word.size();) {
    check(10);
    const Trie::Match match = trie.longest_prefix(word.substr(i));
    if (match.value >= 0) {
      out.push_back({match.value, static_cast<std::uint32_t>(match.length)});
      i += match.length;
    } else {
      const std::size_t length = byte_level_ ? 1 : core::decode_utf8(word, i).length;
      if (!add_bytes(word.substr(i, length), false, out)) add_unknown(word, i, length, out);
      i += length;
    }
  }
}

}  // namespace dragoman::tokenizer
