#include "dragoman/tokenizer/tokenizer.h"

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

class PlainEncoder final : public TextEncoder {
 public:
  PlainEncoder(const Tokenizer& tokenizer, const EncodeOptions& options) : tokenizer_(tokenizer), options_(options) {}
  void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) override {
    options_.line = line;
    const std::vector<std::int32_t> encoded = tokenizer_.encode(text, options_);
    ids.insert(ids.end(), encoded.begin(), encoded.end());
  }

 private:
  const Tokenizer& tokenizer_;
  EncodeOptions options_;
};

class PatientDecoder final : public StreamingDecoder {
 public:
  explicit PatientDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  void decode(std::int32_t id, std::string& /*text*/) override {
    tokenizer_.piece(id);  // throws for an invalid id
    ids_.push_back(id);
  }
  void finish(std::string& text) override {
    text += tokenizer_.decode(ids_);
    ids_.clear();
  }

 private:
  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> ids_;
};

}  // namespace

TextEncoder::~TextEncoder() = default;
StreamingDecoder::~StreamingDecoder() = default;
Tokenizer::~Tokenizer() = default;

void StreamingDecoder::decode_text(std::string_view piece, std::string& text) {
  finish(text);
  text += piece;
}

std::vector<std::string> Tokenizer::encode_as_text(std::string_view text, const EncodeOptions& options) const {
  std::vector<std::string> pieces;
  for (const std::int32_t id : encode(text, options)) pieces.emplace_back(piece(id));
  return pieces;
}

void TextEncoder::encode_all(std::span<const std::string_view> texts, std::uint64_t first_line, EncodedTexts& out) {
  for (const std::string_view text : texts) {
    encode(text, first_line++, out.ids);
    out.offsets.push_back(out.ids.size());
  }
}

std::unique_ptr<TextEncoder> Tokenizer::make_encoder(const EncodeOptions& options) const {
  return std::make_unique<PlainEncoder>(*this, options);
}

std::vector<Segmentation> Tokenizer::encode_n_best(std::string_view /*text*/, std::int32_t /*most*/) const {
  core::fail(core::ErrorCode::kUnsupported,
             "this tokenizer knows one segmentation of a text; only SentencePiece's model files (.model) of the type "
             "unigram have n best ones, so open the model file if a tokenizer.json was made of one");
}

std::unique_ptr<StreamingDecoder> Tokenizer::make_decoder() const {
  return std::make_unique<PatientDecoder>(*this);
}

}  // namespace dragoman::tokenizer
