#include "normalizing/normalizer.h"

#include "base/find_text.h"
#include "normalizing/grapheme_clusters.h"
#include "normalizing/growth.h"
#include "normalizing/rewriter.h"
#include "unicode_forms.h"

#include <algorithm>
#include <span>

#include <unicode/uchar.h>

#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using Kind = NormalizerStep::Kind;

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
  std::size_t match = find_text(in.text, step.pattern);
  if (match == std::string::npos) return in;
  Rewriter out(in, limit);
  std::size_t begin = 0;
  for (; match != std::string::npos; match = find_text(in.text, step.pattern, begin)) {
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
  if (find_text(in.text, pattern + pattern) == std::string::npos) return in;
  Rewriter out(in, limit);
  std::size_t begin = 0;
  for (std::size_t match = find_text(in.text, pattern); match != std::string::npos;
       match = find_text(in.text, pattern, begin)) {
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
    if (is_unicode_form(step.kind)) load_unicode_form(step.kind);
    if (step.kind == Kind::kPrecompiled) maps_.emplace_back(step.content, "the normalizer 'Precompiled'");
  }
}

AlignedText as_it_stands(std::string_view text, std::size_t begin, bool track) {
  AlignedText aligned{std::string(text), {}};
  if (track) {
    core::StopCheck check("encoding a text");
    aligned.origin.reserve(text.size() + 1);
    for (std::size_t at = 0; at <= text.size(); ++at) {
      check();
      aligned.origin.push_back(begin + at);
    }
  }
  return aligned;
}

AlignedText with_spans(std::string_view text, std::size_t begin) {
  AlignedText aligned = as_it_stands(text, begin, true);
  core::StopCheck check("encoding a text");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = core::decode_utf8(text, at).length;
    check();
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
