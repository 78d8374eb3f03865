#include "text_steps.h"

#include "composed/character_kinds.h"
#include "normalizing/growth.h"
#include "normalizing/rewriter.h"

#include <utility>

#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using StepKind = TextStep::Kind;

AlignedText replace_matches(const Matcher& matcher, std::string_view content, const AlignedText& in, std::size_t limit,
                            SearchWork& work) {
  if (in.text.empty()) return in;  // the tokenizers library replaces nothing there, even if the pattern matches
  Rewriter out(in, limit);
  std::size_t kept = 0;
  const auto replace = [&](std::size_t begin, std::size_t end) {
    out.keep(kept, begin);
    if (end > begin)
      out.put(content, begin, end - 1);
    else
      out.insert(content, begin);
    kept = end;
  };
  matcher.for_each(in.text, replace, work);
  out.keep(kept, in.text.size());
  return out.finish();
}

AlignedText strip_white_space(const AlignedText& in, bool start, std::size_t limit) {
  const std::size_t begin = start ? core::leading_white_space(in.text) : 0;
  const std::size_t end = start ? in.text.size() : in.text.size() - core::trailing_white_space(in.text);
  Rewriter out(in, limit);
  out.keep(begin, std::max(begin, end));
  return out.finish();
}

enum class Change { kKeep, kDrop, kSpace, kSpaced };

Change change_of(StepKind kind, char32_t c) {
  switch (kind) {
    case StepKind::kStripAccents:
      return is_combining_mark(c) ? Change::kDrop : Change::kKeep;
    case StepKind::kStripNonspacing:
      return is_nonspacing_mark(c) ? Change::kDrop : Change::kKeep;
    case StepKind::kCleanText:
      if (is_removed_by_bert(c)) return Change::kDrop;
      return core::is_white_space(c) ? Change::kSpace : Change::kKeep;
    case StepKind::kSpaceChinese:
      return is_chinese(c) ? Change::kSpaced : Change::kKeep;
    default:
      if (is_removed_by_nmt(c)) return Change::kDrop;
      return is_space_to_nmt(c) ? Change::kSpace : Change::kKeep;
  }
}

AlignedText change_characters(StepKind kind, const AlignedText& in, std::size_t limit) {
  Rewriter out(in, limit);
  for (std::size_t at = 0; at < in.text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(in.text, at);
    const Change change = c.valid ? change_of(kind, c.code_point) : Change::kKeep;
    if (change == Change::kSpace || change == Change::kSpaced) out.put(" ", at);
    if (change == Change::kKeep || change == Change::kSpaced) out.keep(at, at + c.length);
    // This space belongs to the next character and represents no bytes, so the bytes still belong to the Han character.
    if (change == Change::kSpaced) out.put(" ", at + c.length, at);
    at += c.length;
  }
  return out.finish();
}

AlignedText spell_bytes(const AlignedText& in, std::size_t limit) {
  Rewriter out(in, limit);
  for (std::size_t at = 0; at < in.text.size(); ++at)
    out.put(to_byte_alphabet(std::string_view(in.text).substr(at, 1)), at);
  return out.finish();
}

AlignedText apply_kind(StepKind kind, const AlignedText& in, std::size_t limit) {
  if (kind == StepKind::kStripStart || kind == StepKind::kStripEnd)
    return strip_white_space(in, kind == StepKind::kStripStart, limit);
  return kind == StepKind::kByteAlphabet ? spell_bytes(in, limit) : change_characters(kind, in, limit);
}

}  // namespace

TextNormalizer::TextNormalizer(const ComposedNormalizer& steps) {
  NormalizerSteps run;
  const auto finish_run = [&] {
    if (!run.empty()) parts_.emplace_back(Normalizer(std::exchange(run, {})));
  };
  for (const auto& step : steps) {
    if (const auto* usual = std::get_if<NormalizerStep>(&step)) {
      run.push_back(*usual);
      continue;
    }
    finish_run();
    const auto& other = std::get<TextStep>(step);
    if (other.kind == StepKind::kReplaceMatches)
      parts_.emplace_back(Replacer{Matcher(other.pattern), other.content});
    else
      parts_.emplace_back(other.kind);
  }
  finish_run();
}

AlignedText TextNormalizer::apply(AlignedText result, SearchWork& work) const {
  const std::size_t limit = most_normalised(result.text.size());
  for (const Part& part : parts_) {
    if (const auto* usual = std::get_if<Normalizer>(&part))
      result = usual->apply(std::move(result), limit);
    else if (const auto* replacer = std::get_if<Replacer>(&part))
      result = replace_matches(replacer->matcher, replacer->content, result, limit, work);
    else
      result = apply_kind(std::get<TextStep::Kind>(part), result, limit);
  }
  return result;
}

}  // namespace dragoman::tokenizer
