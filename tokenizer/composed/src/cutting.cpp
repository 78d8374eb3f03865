#include "cutting.h"

#include "base/find_text.h"
#include "composed/character_kinds.h"
#include "normalizing/growth.h"
#include "normalizing/rewriter.h"

#include <algorithm>
#include <array>
#include <utility>

#include <dragoman/core/function_ref.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using CutKind = PreTokenizerStep::Kind;
using Part = CutText::Part;

/// A stretch of a part: a match of a pattern, or the text between matches.
struct Stretch {
  std::size_t begin;
  std::size_t end;
  bool matches;
};
using Stretches = std::vector<Stretch>;

/// Splits a part into matches and the text between them.
using FindStretches = core::FunctionRef<void(std::string_view part, Stretches& out)>;

void add_match(Stretches& out, std::size_t begin, std::size_t end) {
  const std::size_t before = out.empty() ? 0 : out.back().end;
  if (before < begin) out.push_back({before, begin, false});
  out.push_back({begin, end, true});
}

void add_rest(Stretches& out, std::size_t size) {
  const std::size_t before = out.empty() ? 0 : out.back().end;
  if (before < size) out.push_back({before, size, false});
}

void find_occurrences(std::string_view text, std::string_view part, Stretches& out) {
  if (!text.empty())
    for (std::size_t at = find_text(part, text); at != std::string_view::npos;
         at = find_text(part, text, at + text.size()))
      add_match(out, at, at + text.size());
  add_rest(out, part.size());
}

template <class Predicate>
void find_characters(std::string_view part, Stretches& out, Predicate&& matches) {
  core::StopCheck check("encoding a text");
  for (std::size_t at = 0; at < part.size();) {
    check();
    const core::DecodedCharacter c = core::decode_utf8(part, at);
    if (c.valid && matches(c.code_point)) add_match(out, at, at + c.length);
    at += c.length;
  }
  add_rest(out, part.size());
}

/// Splits into runs of word characters and runs of other characters. Whitespace is removed.
void find_words(std::string_view part, Stretches& out) {
  enum class Run { kNone, kWord, kOther };
  const auto run_of = [&](const core::DecodedCharacter& c) {
    if (!c.valid) return Run::kOther;
    if (is_word_character(c.code_point)) return Run::kWord;
    return core::is_white_space(c.code_point) ? Run::kNone : Run::kOther;
  };
  core::StopCheck check("encoding a text");
  for (std::size_t at = 0; at < part.size();) {
    core::DecodedCharacter c = core::decode_utf8(part, at);
    const Run run = run_of(c);
    const std::size_t begin = at;
    for (at += c.length; at < part.size(); at += c.length) {
      c = core::decode_utf8(part, at);
      if (run_of(c) != run) break;
      check();
    }
    check(10);
    if (run != Run::kNone) add_match(out, begin, at);
  }
  add_rest(out, part.size());
}

void keep_part(const Stretch& stretch, std::vector<Part>& parts) {
  if (stretch.begin < stretch.end) parts.push_back({stretch.begin, stretch.end});
}

void merge_with_previous(const Stretches& stretches, std::vector<Part>& parts) {
  bool after_match = false;
  std::vector<Stretch> merged;
  for (const Stretch& stretch : stretches) {
    if (stretch.matches && !after_match && !merged.empty())
      merged.back().end = stretch.end;
    else
      merged.push_back(stretch);
    after_match = stretch.matches;
  }
  for (const Stretch& stretch : merged) keep_part(stretch, parts);
}

void merge_with_next(const Stretches& stretches, std::vector<Part>& parts) {
  bool before_match = false;
  std::vector<Stretch> merged;  // from the end
  for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch) {
    if (stretch->matches && !before_match && !merged.empty())
      merged.back().begin = stretch->begin;
    else
      merged.push_back(*stretch);
    before_match = stretch->matches;
  }
  for (auto stretch = merged.rbegin(); stretch != merged.rend(); ++stretch) keep_part(*stretch, parts);
}

void merge_alike(const Stretches& stretches, std::vector<Part>& parts) {
  for (std::size_t i = 0; i < stretches.size();) {
    Stretch run = stretches[i];
    for (++i; i < stretches.size() && stretches[i].matches == run.matches; ++i) run.end = stretches[i].end;
    keep_part(run, parts);
  }
}

void arrange(const Stretches& stretches, SplitBehavior behavior, std::vector<Part>& parts) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Stretch& stretch : stretches)
        if (!stretch.matches) keep_part(stretch, parts);
      return;
    case SplitBehavior::kIsolated:
      for (const Stretch& stretch : stretches) keep_part(stretch, parts);
      return;
    case SplitBehavior::kMergedWithPrevious:
      return merge_with_previous(stretches, parts);
    case SplitBehavior::kMergedWithNext:
      return merge_with_next(stretches, parts);
    case SplitBehavior::kContiguous:
      return merge_alike(stretches, parts);
  }
}

void split_parts(CutText& text, SplitBehavior behavior, bool invert, FindStretches find) {
  std::vector<Part> parts;
  Stretches stretches;
  core::StopCheck check("encoding a text");
  for (const Part& part : text.parts) {
    check(50);
    stretches.clear();
    find(std::string_view(text.text.text).substr(part.begin, part.end - part.begin), stretches);
    for (Stretch& stretch : stretches) {
      check();
      stretch.begin += part.begin;
      stretch.end += part.begin;
      stretch.matches = stretch.matches != invert;
    }
    arrange(stretches, behavior, parts);
  }
  text.parts = std::move(parts);
}

/// Replaces the text of each part by calling rewrite(part, out).
template <class Rewrite>
void rewrite_parts(CutText& text, Rewrite&& rewrite) {
  Rewriter out(text.text, most_normalised(text.text.text.size()));
  std::vector<Part> parts;
  for (const Part& part : text.parts) {
    const std::size_t begin = out.size();
    rewrite(part, out);
    parts.push_back({begin, out.size()});
  }
  text.text = out.finish();
  text.parts = std::move(parts);
}

void write_metaspaces(const PreTokenizerStep& step, CutText& text) {
  const std::string_view mark = step.text;
  const std::string& whole = text.text.text;
  rewrite_parts(text, [&](const Part& part, Rewriter& out) {
    const std::string_view shown = std::string_view(whole).substr(part.begin, part.end - part.begin);
    const bool wanted =
        !shown.empty() && (step.prepend == PrependScheme::kAlways ||
                           (step.prepend == PrependScheme::kFirst && text.text.spans[part.begin].begin == 0));
    if (wanted && !shown.starts_with(mark) && !shown.starts_with(' ')) out.put(mark, part.begin);
    for (std::size_t at = part.begin; at < part.end; ++at) {
      if (whole[at] == ' ')
        out.put(mark, at);
      else
        out.keep(at, at + 1);
    }
  });
}

const std::array<std::string, 256>& byte_spellings() {
  static const std::array<std::string, 256> spellings = [] {
    std::array<std::string, 256> all;
    for (std::size_t byte = 0; byte < all.size(); ++byte)
      all[byte] = to_byte_alphabet(std::string(1, static_cast<char>(byte)));
    return all;
  }();
  return spellings;
}

void write_byte_alphabet(CutText& text) {
  const auto& spellings = byte_spellings();
  const std::string& whole = text.text.text;
  rewrite_parts(text, [&](const Part& part, Rewriter& out) {
    for (std::size_t at = part.begin; at < part.end; ++at)
      out.put(spellings[static_cast<unsigned char>(whole[at])], at);
  });
}

void put_prefix_space(CutText& text) {
  rewrite_parts(text, [&](const Part& part, Rewriter& out) {
    if (part.begin < part.end && text.text.text[part.begin] != ' ') out.put(" ", part.begin);
    out.keep(part.begin, part.end);
  });
}

void split_at(const PreTokenizerStep& step, const std::optional<Matcher>& matcher, CutText& text, SearchWork& work) {
  const auto split = [&](SplitBehavior behavior, FindStretches find) {
    split_parts(text, behavior, step.invert, find);
  };
  switch (step.kind) {
    case CutKind::kSplitText:
      return split(step.behavior,
                   [&](std::string_view part, Stretches& out) { find_occurrences(step.text, part, out); });
    case CutKind::kSplitWhitespace:
      return split(SplitBehavior::kRemoved,
                   [](std::string_view part, Stretches& out) { find_characters(part, out, core::is_white_space); });
    case CutKind::kSplitPunctuation:
      return split(step.behavior,
                   [](std::string_view part, Stretches& out) { find_characters(part, out, is_punctuation); });
    case CutKind::kSplitNumbers:
      return split(step.behavior, [](std::string_view part, Stretches& out) { find_characters(part, out, is_number); });
    case CutKind::kWordsAndSymbols:
      return split_parts(text, SplitBehavior::kRemoved, true,
                         [](std::string_view part, Stretches& out) { find_words(part, out); });
    default:
      return split(step.behavior, [&](std::string_view part, Stretches& out) {
        matcher->for_each(
            part, [&](std::size_t begin, std::size_t end) { add_match(out, begin, end); }, work);
        add_rest(out, part.size());
      });
  }
}

}  // namespace

TextCutter::TextCutter(const std::vector<PreTokenizerStep>& steps) {
  for (const PreTokenizerStep& step : steps) {
    Step made{step, {}};
    if (step.kind == CutKind::kSplitPattern) made.matcher.emplace(step.text);
    needs_spans_ = needs_spans_ || (step.kind == CutKind::kMetaspace && step.prepend == PrependScheme::kFirst);
    steps_.push_back(std::move(made));
  }
}

void TextCutter::cut(CutText& text, SearchWork& work) const {
  for (const auto& [step, matcher] : steps_) {
    if (step.kind == CutKind::kMetaspace) {
      write_metaspaces(step, text);
      if (step.split)
        split_parts(text, SplitBehavior::kMergedWithNext, false,
                    [&mark = step.text](std::string_view part, Stretches& out) { find_occurrences(mark, part, out); });
    } else if (step.kind == CutKind::kByteAlphabet) {
      write_byte_alphabet(text);
    } else if (step.kind == CutKind::kPrefixSpace) {
      put_prefix_space(text);
    } else {
      split_at(step, matcher, text, work);
    }
  }
}

}  // namespace dragoman::tokenizer
