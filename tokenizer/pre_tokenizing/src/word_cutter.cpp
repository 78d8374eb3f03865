#include "pre_tokenizing/word_cutter.h"

namespace dragoman::tokenizer {

struct WordCutter::RuleOf {
  Rule operator()(const SplitBefore& split) const {
    return {.kind = split.mark.empty() ? Kind::kWholeText : Kind::kBefore, .mark = split.mark};
  }
  Rule operator()(const SplitBetween& split) const {
    return {.kind = split.separator.empty() ? Kind::kWholeText : Kind::kBetween, .mark = split.separator};
  }
  Rule operator()(const WhitespaceSplit&) const { return {.kind = Kind::kWhiteSpace}; }
  Rule operator()(const Metaspace& metaspace) const { return at_marks(metaspace.split); }

  Rule operator()(const CharacterText& text) const { return std::visit(*this, text.pre_tokenizer); }
  Rule operator()(const SuffixedText& text) const {
    if (text.between_white_space) return {.kind = Kind::kWhiteSpace};
    return {.kind = Kind::kBetween, .mark = " "};
  }
  Rule operator()(const ByteLevelText& text) const {
    if (!text.pattern) return {};
    return {.kind = Kind::kPattern, .pattern = *text.pattern};
  }
  Rule operator()(const SentencePieceText& text) const { return at_marks(text.split_at_marks); }

 private:
  static Rule at_marks(bool split) {
    if (!split) return {};
    return {.kind = Kind::kBefore, .mark = kWordMark};
  }
};

WordCutter::WordCutter(const TextDefinition& text) : rule_(std::visit(RuleOf(), text)) {}

}  // namespace dragoman::tokenizer
