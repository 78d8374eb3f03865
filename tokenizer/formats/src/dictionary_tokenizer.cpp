#include "dictionary_tokenizer.h"

#include "lines/line_encoder.h"

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {
DictionaryTokenizer::DictionaryTokenizer(std::unique_ptr<Tokenizer> segmenter, Dictionary dictionary)
    : segmenter_(std::move(segmenter)), dictionary_(std::move(dictionary)), mark_(continuation_mark(*segmenter_)) {
  for (const std::string& piece : dictionary_.pieces) segment_.push_back(segmenter_->id(piece).value_or(-1));
}

std::vector<std::int32_t> DictionaryTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<std::int32_t> ids;
  if (mark_.empty())
    for (const std::string& piece : segmenter_->encode_as_text(text, options)) ids.push_back(dictionary_.find(piece));
  else
    for (const Piece& piece : encode_pieces(text, options)) ids.push_back(piece.id);
  return ids;
}

/// If lines have continuation marks, a character that is unknown to the segmenter is looked up unchanged, with its
/// mark.
std::vector<Piece> DictionaryTokenizer::encode_pieces(std::string_view text, const EncodeOptions& options) const {
  std::vector<Piece> pieces = segmenter_->encode_pieces(text, options);
  if (mark_.empty()) {
    const std::vector<std::int32_t> ids = encode(text, options);
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i].id = ids.at(i);
    return pieces;
  }
  for (Piece& piece : pieces) {
    std::string shown;
    append_continued_piece(static_cast<const BpeTokenizer&>(*segmenter_), piece, text, shown);
    piece.id = dictionary_.find(shown);
  }
  return pieces;
}

std::string DictionaryTokenizer::decode(std::span<const std::int32_t> ids) const {
  if (!mark_.empty()) return join(ids);
  const auto decoder = make_decoder();
  std::string text;
  for (const std::int32_t id : ids) decoder->decode(id, text);
  decoder->finish(text);
  return text;
}

std::string DictionaryTokenizer::join(std::span<const std::int32_t> ids) const {
  std::string line;
  for (const std::int32_t id : ids) {
    if (is_special(id)) continue;
    if (!line.empty()) line += ' ';
    line += dictionary_.pieces[index(id)];
  }
  return join_continued(line, mark_);
}

/// Passes the ids to the other tokenizer's decoder.
class DictionaryTokenizer::Streaming final : public StreamingDecoder {
 public:
  explicit Streaming(const DictionaryTokenizer& tokenizer)
      : tokenizer_(tokenizer), decoder_(tokenizer.segmenter_->make_decoder()) {}
  void decode(std::int32_t id, std::string& text) override {
    const std::int32_t segment = tokenizer_.segment_[tokenizer_.index(id)];
    if (tokenizer_.is_special(id)) return;
    if (segment >= 0)
      decoder_->decode(segment, text);
    else
      decoder_->decode_text(tokenizer_.piece(id), text);
  }
  void decode_text(std::string_view piece, std::string& text) override { decoder_->decode_text(piece, text); }
  void finish(std::string& text) override { decoder_->finish(text); }

 private:
  const DictionaryTokenizer& tokenizer_;
  std::unique_ptr<StreamingDecoder> decoder_;
};

/// Does the same as join(): adds a space before each piece except the first one and continuations of a word.
class DictionaryTokenizer::StreamingJoiner final : public StreamingDecoder {
 public:
  explicit StreamingJoiner(const DictionaryTokenizer& tokenizer) : tokenizer_(tokenizer) {}
  void decode(std::int32_t id, std::string& text) override {
    std::string_view piece = tokenizer_.piece(id);
    if (tokenizer_.is_special(id)) return;
    if (space_waits_) text += ' ';
    space_waits_ = !piece.ends_with(tokenizer_.mark_);
    if (!space_waits_) piece.remove_suffix(tokenizer_.mark_.size());
    text += piece;
  }
  void finish(std::string& /*text*/) override { space_waits_ = false; }

 private:
  const DictionaryTokenizer& tokenizer_;
  bool space_waits_ = false;
};

std::unique_ptr<StreamingDecoder> DictionaryTokenizer::make_decoder() const {
  if (mark_.empty()) return std::make_unique<Streaming>(*this);
  if (mark_.find(' ') != std::string::npos) return Tokenizer::make_decoder();  // a mark could span pieces
  return std::make_unique<StreamingJoiner>(*this);
}

std::string_view DictionaryTokenizer::piece(std::int32_t id) const {
  return dictionary_.pieces[index(id)];
}

std::optional<std::int32_t> DictionaryTokenizer::id(std::string_view piece) const {
  const auto found = dictionary_.ids.find(std::string(piece));
  return found == dictionary_.ids.end() ? std::nullopt : std::optional(found->second);
}

bool DictionaryTokenizer::is_special(std::int32_t id) const {
  return dictionary_.special[index(id)];
}

std::size_t DictionaryTokenizer::index(std::int32_t id) const {
  core::require(id >= 0 && id < size(), core::ErrorCode::kInvalidArgument,
                "the id {} is not in the dictionary, whose ids run from 0 to {}", id, size() - 1);
  return static_cast<std::size_t>(id);
}

}  // namespace dragoman::tokenizer
