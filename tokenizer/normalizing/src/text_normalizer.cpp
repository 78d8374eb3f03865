#include "dragoman/tokenizer/text_normalizer.h"

#include "normalizing/sentencepiece_normalizer.h"

#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

std::vector<std::string_view> checked(const std::vector<std::string>& symbols, const std::string& name) {
  for (const std::string& symbol : symbols)
    core::require(!symbol.empty() && core::find_invalid_utf8(symbol) == std::string::npos, core::ErrorCode::kBadInput,
                  "{}: a user-defined symbol is empty or not valid UTF-8", name);
  return {symbols.begin(), symbols.end()};
}

}  // namespace

struct TextNormalizer::Impl {
  SentencePieceNormalizer normalizer;
};

TextNormalizer::TextNormalizer(SentencePieceNormalization options, const std::vector<std::string>& symbols,
                               const std::string& name)
    : impl_(new Impl{SentencePieceNormalizer(std::move(options), checked(symbols, name), name)}) {}
TextNormalizer::~TextNormalizer() = default;
TextNormalizer::TextNormalizer(TextNormalizer&&) noexcept = default;
TextNormalizer& TextNormalizer::operator=(TextNormalizer&&) noexcept = default;

NormalizedText TextNormalizer::normalize(std::string_view text) const {
  AlignedText out;
  impl_->normalizer.apply(text, 0, true, out);
  return {std::move(out.text), std::move(out.origin)};
}

}  // namespace dragoman::tokenizer
