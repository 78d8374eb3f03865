#include "text_cleaner.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <dragoman/core/error.h>
#include <dragoman/core/white_space.h>

namespace dragoman::corpus {
namespace {

const icu::Normalizer2* find_normalizer(Normalization normalization) {
  if (normalization == Normalization::kNone) return nullptr;
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* const found = normalization == Normalization::kNfc ? icu::Normalizer2::getNFCInstance(error)
                                                                             : icu::Normalizer2::getNFKCInstance(error);
  core::require(U_SUCCESS(error) != 0, core::ErrorCode::kUnsupported, "ICU has no data for Unicode normalisation: {}",
                u_errorName(error));
  return found;
}

/// Replaces runs of whitespace by one space, and removes whitespace at the ends.
void squeeze(std::string& text) {
  std::string squeezed;
  squeezed.reserve(text.size());
  bool space = false;
  for (std::size_t i = 0; i < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, i);
    if (core::is_white_space(c.code_point)) {
      space = !squeezed.empty();
    } else {
      if (space) squeezed.push_back(' ');
      space = false;
      squeezed.append(text, i, c.length);
    }
    i += c.length;
  }
  text = std::move(squeezed);
}

}  // namespace

TextCleaner::TextCleaner(Normalization normalization, bool squeeze_spaces)
    : normalizer_(find_normalizer(normalization)), squeeze_spaces_(squeeze_spaces) {}

void TextCleaner::clean(std::string& text) const {
  if (normalizer_ != nullptr) normalize(text);
  if (squeeze_spaces_) squeeze(text);
}

void TextCleaner::normalize(std::string& text) const {
  const auto& normalizer = *static_cast<const icu::Normalizer2*>(normalizer_);
  const icu::StringPiece piece(text.data(), static_cast<std::int32_t>(text.size()));
  UErrorCode error = U_ZERO_ERROR;
  if (normalizer.isNormalizedUTF8(piece, error) != 0 && U_SUCCESS(error) != 0) return;
  error = U_ZERO_ERROR;
  std::string normalized;
  icu::StringByteSink<std::string> sink(&normalized);
  normalizer.normalizeUTF8(0, piece, sink, nullptr, error);
  core::require(U_SUCCESS(error) != 0, core::ErrorCode::kBadInput, "Unicode normalisation failed: {}",
                u_errorName(error));
  text = std::move(normalized);
}

}  // namespace dragoman::corpus
