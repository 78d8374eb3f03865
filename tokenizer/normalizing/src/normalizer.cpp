#include "normalizing/normalizer.h"

#include "normalizing/grapheme_clusters.h"
#include "normalizing/growth.h"
#include "normalizing/rewriter.h"

#include <algorithm>
#include <numeric>
#include <span>

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

bool is_unicode_form(Kind kind) {
  return kind == Kind::kNfc || kind == Kind::kNfd || kind == Kind::kNfkc || kind == Kind::kNfkd;
}

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

/// Normalises the valid UTF-8 in [begin, end) of the input.
void normalize_valid(Kind kind, const AlignedText& in, std::size_t begin, std::size_t end, Rewriter& out) {
  const icu::Normalizer2& form = unicode_form(kind);
  const std::string_view run = std::string_view(in.text).substr(begin, end - begin);
  core::require(run.size() < 0x7FFFFFFF / 4, core::ErrorCode::kBadInput,
                "a line of {} bytes is too long to be normalised", run.size());
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

/// Converts character by character, independently of language and position, as the format requires. A final sigma is
/// not special.
AlignedText lowercase(const AlignedText& in, std::size_t limit) {
  constexpr char32_t kCapitalIWithDot = 0x130;
  Rewriter out(in, limit);
  for (std::size_t i = 0; i < in.text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(in.text, i);
    const auto lower = static_cast<char32_t>(u_tolower(static_cast<UChar32>(c.code_point)));
    if (!c.valid || lower == c.code_point) {
      out.keep(i, i + c.length);
    } else {
      std::string text;
      core::append_utf8(text, lower);
      if (c.code_point == kCapitalIWithDot) text = "i\xCC\x87";
      out.put(text, i);
    }
    i += c.length;
  }
  return out.finish();
}

AlignedText prepend(const std::string& content, AlignedText in, std::size_t limit) {
  if (in.text.empty()) return in;
  check_growth(in.text.size() + content.size(), limit);
  in.text.insert(0, content);
  if (!in.origin.empty()) in.origin.insert(in.origin.begin(), content.size(), in.origin.front());
  if (!in.spans.empty()) in.spans.insert(in.spans.begin(), content.size(), in.spans.front());
  return in;
}

AlignedText replace(const NormalizerStep& step, AlignedText in, std::size_t limit) {
  std::size_t match = in.text.find(step.pattern);
  if (match == std::string::npos) return in;
  Rewriter out(in, limit);
  std::size_t begin = 0;
  for (; match != std::string::npos; match = in.text.find(step.pattern, begin)) {
    out.keep(begin, match);
    out.put(step.content, match, match + step.pattern.size() - 1);
    begin = match + step.pattern.size();
  }
  out.keep(begin, in.text.size());
  return out.finish();
}

std::size_t repetitions_end(std::string_view text, std::size_t begin, std::string_view pattern) {
  while (text.substr(begin).starts_with(pattern)) begin += pattern.size();
  return begin;
}

AlignedText keep_only(AlignedText in, std::size_t begin, std::size_t end, std::size_t limit) {
  if (begin == 0 && end == in.text.size()) return in;
  Rewriter out(in, limit);
  out.keep(begin, end);
  return out.finish();
}

AlignedText trim_start(const std::string& pattern, AlignedText in, std::size_t limit) {
  const std::size_t begin = repetitions_end(in.text, 0, pattern);
  const std::size_t end = in.text.size();
  return keep_only(std::move(in), begin, end, limit);
}

AlignedText trim_end(const std::string& pattern, AlignedText in, std::size_t limit) {
  std::string_view rest = in.text;
  while (rest.ends_with(pattern)) rest.remove_suffix(pattern.size());
  const std::size_t end = rest.size();
  return keep_only(std::move(in), 0, end, limit);
}

AlignedText squeeze(const std::string& pattern, AlignedText in, std::size_t limit) {
  if (in.text.find(pattern + pattern) == std::string::npos) return in;
  Rewriter out(in, limit);
  std::size_t begin = 0;
  for (std::size_t match = in.text.find(pattern); match != std::string::npos; match = in.text.find(pattern, begin)) {
    out.keep(begin, match + pattern.size());
    begin = repetitions_end(in.text, match, pattern);
  }
  out.keep(begin, in.text.size());
  return out.finish();
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Writes a replacement of [begin, end). Each of its characters has the span of one replaced character, as far as there
/// are any, and the remaining ones have the span of the last. Returns whether there are remaining ones.
bool replace_characters(std::string_view replacement, std::string_view text, std::size_t begin, std::size_t end,
                        Rewriter& out) {
  std::size_t replaced = begin;
  bool is_additional = false;
  for (std::size_t at = 0, next = begin; at < replacement.size();) {
    const std::size_t length = core::decode_utf8(replacement, at).length;
    is_additional = next == end;
    if (!is_additional) replaced = next;
    out.put(replacement.substr(at, length), begin, replaced);
    at += length;
    next = replaced + core::decode_utf8(text, replaced).length;
  }
  return is_additional;
}

/// Gives the last character of a text the span of a byte of its input.
struct ChangedSpan {
  std::size_t size;  ///< of the text up to and including the character
  std::size_t span_of;
};

void change_spans(AlignedText& text, std::span<const ChangedSpan> changes, const AlignedText& in) {
  if (in.spans.empty()) return;
  for (const auto& [size, span_of] : changes)
    for (std::size_t at = size; at-- > 0;) {
      text.spans[at] = in.spans[span_of];
      if ((static_cast<unsigned char>(text.text[at]) & 0xC0) != 0x80) break;
    }
}

/// A rule that matches the beginning of a short cluster replaces the whole cluster, and the characters that the rule
/// does not contain are lost. This is how the `tokenizers` library reads the maps, and models have been trained with
/// this behaviour.
///
/// Adds to `lost` the number of characters that are removed before the first character of the result. If characters are
/// removed after a rule that adds some, the library takes the last added one for a replacement of the first removed
/// one.
AlignedText apply_precompiled(const CharacterMap& map, const AlignedText& in, std::size_t limit, std::size_t& lost) {
  constexpr std::size_t kLongestCluster = 5;
  Rewriter out(in, limit);
  const std::string_view text = in.text;
  std::vector<ChangedSpan> changes;
  bool is_additional = false;
  const auto replaces = [&](std::size_t begin, std::size_t end) {
    const CharacterMap::Match match = map.shortest_prefix(text.substr(begin, end - begin));
    if (match.length == 0) return false;
    if (match.replacement.empty() && is_additional) changes.push_back({out.size(), begin});
    if (match.replacement.empty() && out.size() == 0) lost += count_characters(text.substr(begin, end - begin));
    is_additional = replace_characters(match.replacement, text, begin, end, out);
    return true;
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = grapheme_cluster_end(text, begin);
    if (end - begin > kLongestCluster || !replaces(begin, end)) {
      for (std::size_t i = begin; i < end;) {
        const std::size_t next = i + core::decode_utf8(text, i).length;
        if (!replaces(i, next)) {
          out.keep(i, next);
          is_additional = false;
        }
        i = next;
      }
    }
    begin = end;
  }
  AlignedText result = out.finish();
  change_spans(result, changes, in);
  return result;
}

/// Gives each character the span of the one `count` characters before it.
void delay_spans(AlignedText& text, std::size_t count) {
  std::vector<LibrarySpan> spans;
  for (std::size_t at = 0; at < text.text.size(); at += core::decode_utf8(text.text, at).length)
    spans.push_back(text.spans[at]);
  for (std::size_t at = 0, index = 0; at < text.text.size(); ++index) {
    const std::size_t length = core::decode_utf8(text.text, at).length;
    std::fill_n(text.spans.begin() + static_cast<std::ptrdiff_t>(at), length, spans[index < count ? 0 : index - count]);
    at += length;
  }
}

/// The library forgets the characters that are removed at the beginning of a text, so the spans of all others are those
/// of earlier characters.
AlignedText apply_precompiled(const CharacterMap& map, AlignedText in, std::size_t limit) {
  std::size_t lost = 0;
  AlignedText out = apply_precompiled(map, in, limit, lost);
  if (lost == 0 || in.spans.empty()) return out;
  delay_spans(in, lost);
  return apply_precompiled(map, in, limit, lost);
}

AlignedText apply_step(const NormalizerStep& step, AlignedText in, std::size_t limit) {
  switch (step.kind) {
    case Kind::kNfc:
    case Kind::kNfd:
    case Kind::kNfkc:
    case Kind::kNfkd:
      return normalize_unicode(step.kind, std::move(in), limit);
    case Kind::kLowercase:
      return lowercase(in, limit);
    case Kind::kPrepend:
      return prepend(step.content, std::move(in), limit);
    case Kind::kReplace:
      return replace(step, std::move(in), limit);
    case Kind::kTrimStart:
      return trim_start(step.pattern, std::move(in), limit);
    case Kind::kTrimEnd:
      return trim_end(step.pattern, std::move(in), limit);
    case Kind::kSqueeze:
      return squeeze(step.pattern, std::move(in), limit);
    case Kind::kPrecompiled:
      break;
  }
  return in;
}

}  // namespace

Normalizer::Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {
  // ICU creates its tables at their first use. This happens here, on one thread, and not while several threads work.
  for (const NormalizerStep& step : steps_) {
    if (is_unicode_form(step.kind)) unicode_form(step.kind);
    if (step.kind == Kind::kPrecompiled) maps_.emplace_back(step.content, "the normalizer 'Precompiled'");
  }
}

AlignedText as_it_stands(std::string_view text, std::size_t begin, bool track) {
  AlignedText aligned{std::string(text), {}};
  if (track) {
    aligned.origin.resize(text.size() + 1);
    std::iota(aligned.origin.begin(), aligned.origin.end(), begin);
  }
  return aligned;
}

AlignedText with_spans(std::string_view text, std::size_t begin) {
  AlignedText aligned = as_it_stands(text, begin, true);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = core::decode_utf8(text, at).length;
    aligned.spans.insert(aligned.spans.end(), length, {begin + at, begin + at + length});
    at += length;
  }
  return aligned;
}

AlignedText Normalizer::apply(std::string_view text, std::size_t begin, bool track) const {
  return apply(as_it_stands(text, begin, track), most_normalised(text.size()));
}

AlignedText Normalizer::apply(AlignedText aligned, std::size_t limit) const {
  auto map = maps_.begin();
  for (const NormalizerStep& step : steps_)
    aligned = step.kind == Kind::kPrecompiled ? apply_precompiled(*map++, std::move(aligned), limit)
                                              : apply_step(step, std::move(aligned), limit);
  return aligned;
}

}  // namespace dragoman::tokenizer
