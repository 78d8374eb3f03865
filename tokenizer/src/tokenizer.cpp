#include "dragoman/tokenizer/tokenizer.h"

#include "dragoman/tokenizer/tokenizer_files.h"

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

}  // namespace

TextEncoder::~TextEncoder() = default;
Tokenizer::~Tokenizer() = default;

std::unique_ptr<TextEncoder> Tokenizer::make_encoder(const EncodeOptions& options) const {
  return std::make_unique<PlainEncoder>(*this, options);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path) {
  return open_tokenizer_file(path);
}

}  // namespace dragoman::tokenizer
