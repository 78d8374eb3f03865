#include "unicode_forms.h"

#include "normalizing/rewriter.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <unicode/bytestream.h>
#include <unicode/edits.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using Kind = NormalizerStep::Kind;

const icu::Normalizer2& unicode_form(Kind kind) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = kind == Kind::kNfc    ? icu::Normalizer2::getNFCInstance(status)
                                 : kind == Kind::kNfd  ? icu::Normalizer2::getNFDInstance(status)
                                 : kind == Kind::kNfkc ? icu::Normalizer2::getNFKCInstance(status)
                                                       : icu::Normalizer2::getNFKDInstance(status);
  core::require(U_SUCCESS(status) && form != nullptr, core::ErrorCode::kInternal, "ICU has no normalisation data: {}",
                u_errorName(status));
  return *form;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// A character of a decomposed text.
struct DecomposedCharacter {
  UChar32 character;
  bool is_first;  ///< of its original character
};

/// Returns the canonical decomposition of a text, or the compatibility one, in canonical order.
std::vector<DecomposedCharacter> decompose(const icu::Normalizer2& form, std::string_view text) {
  std::vector<DecomposedCharacter> made;
  for (std::size_t at = 0; at < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, at);
    UErrorCode status = U_ZERO_ERROR;
    const icu::UnicodeString parts = form.normalize(icu::UnicodeString(static_cast<UChar32>(c.code_point)), status);
    for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1))
      made.push_back({parts.char32At(i), i == 0});
    at += c.length;
  }
  const auto class_of = [](const DecomposedCharacter& c) { return u_getCombiningClass(c.character); };
  for (auto begin = made.begin(); begin != made.end();) {
    const auto end = std::find_if(begin, made.end(), [&](const auto& c) { return class_of(c) == 0; });
    std::stable_sort(begin, end, [&](const auto& a, const auto& b) { return class_of(a) < class_of(b); });
    begin = end == made.end() ? end : end + 1;
  }
  return made;
}

/// Returns for each character of a normalised text the offset of the character of `source` whose span it has. The
/// `tokenizers` library counts the original characters that went into each character, and assumes that they were in the
/// order of the result.
std::vector<std::size_t> sources_of_characters(Kind kind, std::string_view source, std::string_view result) {
  const bool compatible = kind == Kind::kNfkc || kind == Kind::kNfkd;
  std::vector<DecomposedCharacter> rest = decompose(unicode_form(compatible ? Kind::kNfkd : Kind::kNfd), source);
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < source.size(); at += core::decode_utf8(source, at).length) starts.push_back(at);
  std::vector<std::size_t> sources;
  std::size_t used = 0;
  for (std::size_t at = 0; at < result.size();) {
    const std::size_t length = core::decode_utf8(result, at).length;
    std::size_t firsts = 0;
    for (const DecomposedCharacter& part : decompose(unicode_form(Kind::kNfd), result.substr(at, length))) {
      const auto found = std::ranges::find(rest, part.character, &DecomposedCharacter::character);
      if (found == rest.end()) continue;
      firsts += found->is_first ? 1 : 0;
      rest.erase(found);
    }
    const std::size_t index = firsts > 0 || used == 0 ? used : used - 1;
    sources.push_back(starts[std::min(index, starts.size() - 1)]);
    used += firsts;
    at += length;
  }
  return sources;
}

/// Writes the normalised form of the bytes of the input from `begin`, which have the length `length`.
void put_normalized(Kind kind, const AlignedText& in, std::size_t begin, std::size_t length, std::string_view result,
                    Rewriter& out) {
  if (in.spans.empty()) return out.put(result, begin);
  const std::string_view source = std::string_view(in.text).substr(begin, length);
  std::size_t at = 0;
  for (const std::size_t offset : sources_of_characters(kind, source, result)) {
    const std::size_t size = core::decode_utf8(result, at).length;
    out.put(result.substr(at, size), begin, begin + offset);
    at += size;
  }
}

/// Returns the end of a part of [begin, end) that can be normalised on its own. A part takes some milliseconds.
std::size_t end_of_part(const icu::Normalizer2& form, std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::size_t kAboutBytes = std::size_t{1} << 18;
  if (end - begin <= kAboutBytes) return end;
  std::size_t at = begin + kAboutBytes;
  while (at < end && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  while (at < end) {
    const core::DecodedCharacter c = core::decode_utf8(text, at);
    if (form.hasBoundaryBefore(static_cast<UChar32>(c.code_point)) != 0) break;
    at += c.length;
  }
  return at;
}

/// Normalises the valid UTF-8 in [begin, end) of the input, a part for end_of_part().
void normalize_part(const icu::Normalizer2& form, Kind kind, const AlignedText& in, std::size_t begin, std::size_t end,
                    Rewriter& out) {
  const std::string_view run = std::string_view(in.text).substr(begin, end - begin);
  UErrorCode status = U_ZERO_ERROR;
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  icu::Edits edits;
  form.normalizeUTF8(0, icu::StringPiece(run.data(), static_cast<std::int32_t>(run.size())), sink, &edits, status);
  core::require(U_SUCCESS(status), core::ErrorCode::kInternal, "ICU cannot normalise: {}", u_errorName(status));
  auto edit = edits.getFineIterator();
  while (edit.next(status) != 0) {
    const std::size_t from = begin + static_cast<std::size_t>(edit.sourceIndex());
    if (edit.hasChange() == 0)
      out.keep(from, from + static_cast<std::size_t>(edit.oldLength()));
    else
      put_normalized(kind, in, from, static_cast<std::size_t>(edit.oldLength()),
                     std::string_view(result).substr(static_cast<std::size_t>(edit.destinationIndex()),
                                                     static_cast<std::size_t>(edit.newLength())),
                     out);
  }
}

/// Normalises the valid UTF-8 in [begin, end) of the input.
void normalize_valid(Kind kind, const AlignedText& in, std::size_t begin, std::size_t end, Rewriter& out) {
  core::require(end - begin < 0x7FFFFFFF / 4, core::ErrorCode::kBadInput,
                "a line of {} bytes is too long to be normalised", end - begin);
  const icu::Normalizer2& form = unicode_form(kind);
  while (begin < end) {
    const std::size_t end_of_this = end_of_part(form, in.text, begin, end);
    normalize_part(form, kind, in, begin, end_of_this, out);
    begin = end_of_this;
  }
}

}  // namespace

bool is_unicode_form(Kind kind) {
  return kind == Kind::kNfc || kind == Kind::kNfd || kind == Kind::kNfkc || kind == Kind::kNfkd;
}

void load_unicode_form(Kind kind) {
  unicode_form(kind);
}

AlignedText normalize_unicode(Kind kind, AlignedText in, std::size_t limit) {
  if (is_ascii(in.text)) return in;
  Rewriter out(in, limit);
  std::size_t begin = 0;
  while (begin < in.text.size()) {
    const std::size_t invalid = core::find_invalid_utf8(std::string_view(in.text).substr(begin));
    const std::size_t end = invalid == std::string::npos ? in.text.size() : begin + invalid;
    if (begin < end) normalize_valid(kind, in, begin, end, out);
    begin = end;
    if (begin == in.text.size()) break;
    const std::size_t length = core::decode_utf8(in.text, begin).length;
    out.keep(begin, begin + length);
    begin += length;
  }
  return out.finish();
}

}  // namespace dragoman::tokenizer
