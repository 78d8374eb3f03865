#include "normalizing/normalizer.h"

#include "normalizing/grapheme_clusters.h"
#include "normalizing/growth.h"
#include "normalizing/rewriter.h"

#include <algorithm>
#include <numeric>

#include <unicode/bytestream.h>
#include <unicode/edits.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

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

/// Normalises the valid UTF-8 in [begin, end) of the input.
void normalize_valid(const icu::Normalizer2& form, const AlignedText& in, std::size_t begin, std::size_t end,
                     Rewriter& out) {
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
      out.put(std::string_view(result).substr(static_cast<std::size_t>(edit.destinationIndex()),
                                              static_cast<std::size_t>(edit.newLength())),
              from);
  }
}

AlignedText normalize_unicode(Kind kind, AlignedText in, std::size_t limit) {
  if (is_ascii(in.text)) return in;
  const icu::Normalizer2& form = unicode_form(kind);
  Rewriter out(in, limit);
  std::size_t begin = 0;
  while (begin < in.text.size()) {
    const std::size_t invalid = core::find_invalid_utf8(std::string_view(in.text).substr(begin));
    const std::size_t end = invalid == std::string::npos ? in.text.size() : begin + invalid;
    if (begin < end) normalize_valid(form, in, begin, end, out);
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
  return in;
}

AlignedText replace(const NormalizerStep& step, AlignedText in, std::size_t limit) {
  std::size_t match = in.text.find(step.pattern);
  if (match == std::string::npos) return in;
  Rewriter out(in, limit);
  std::size_t begin = 0;
  for (; match != std::string::npos; match = in.text.find(step.pattern, begin)) {
    out.keep(begin, match);
    out.put(step.content, match);
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

/// A rule that matches the beginning of a short cluster replaces the whole cluster, and the characters that the rule
/// does not contain are lost. This is how the `tokenizers` library reads the maps, and models have been trained with
/// this behaviour.
AlignedText apply_precompiled(const CharacterMap& map, const AlignedText& in, std::size_t limit) {
  constexpr std::size_t kLongestCluster = 5;
  Rewriter out(in, limit);
  const std::string_view text = in.text;
  const auto replaces = [&](std::size_t begin, std::size_t end) {
    const CharacterMap::Match match = map.shortest_prefix(text.substr(begin, end - begin));
    if (match.length > 0) out.put(match.replacement, begin);
    return match.length > 0;
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = grapheme_cluster_end(text, begin);
    if (end - begin > kLongestCluster || !replaces(begin, end)) {
      for (std::size_t i = begin; i < end;) {
        const std::size_t next = i + core::decode_utf8(text, i).length;
        if (!replaces(i, next)) out.keep(i, next);
        i = next;
      }
    }
    begin = end;
  }
  return out.finish();
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

AlignedText Normalizer::apply(std::string_view text, std::size_t begin, bool track) const {
  return apply(as_it_stands(text, begin, track), most_normalised(text.size()));
}

AlignedText Normalizer::apply(AlignedText aligned, std::size_t limit) const {
  auto map = maps_.begin();
  for (const NormalizerStep& step : steps_)
    aligned = step.kind == Kind::kPrecompiled ? apply_precompiled(*map++, aligned, limit)
                                              : apply_step(step, std::move(aligned), limit);
  return aligned;
}

}  // namespace dragoman::tokenizer
