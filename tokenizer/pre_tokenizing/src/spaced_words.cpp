#include "pre_tokenizing/spaced_words.h"

#include <algorithm>

namespace dragoman::tokenizer {

SpacedWordEffect effect_on_spaced_words(const BpeDefinition& definition) {
  const bool has_user_symbols = std::any_of(definition.added_tokens.begin(), definition.added_tokens.end(),
                                            [](const AddedToken& token) { return !token.special; });
  const auto* text = std::get_if<CharacterText>(&definition.text);
  if (has_user_symbols || text == nullptr || definition.inner_cuts().any()) return SpacedWordEffect::kAny;
  if (text->normalizer.empty() && text->pre_tokenizer == PreTokenizerDefinition()) return SpacedWordEffect::kNone;
  return PlainWords(definition).exist() ? SpacedWordEffect::kMark : SpacedWordEffect::kAny;
}

bool stays_within_words(const NormalizerStep& step) {
  using Kind = NormalizerStep::Kind;
  switch (step.kind) {
    case Kind::kNfc:
    case Kind::kNfd:
    case Kind::kNfkc:
    case Kind::kNfkd:
    case Kind::kLowercase:
      return true;
    case Kind::kReplace:  // a removed word would remove its space too
      return step.pattern.find(' ') == std::string::npos && !step.content.empty() &&
             step.content.find(' ') == std::string::npos;
    case Kind::kPrepend:
    case Kind::kTrimStart:
    case Kind::kTrimEnd:
    case Kind::kSqueeze:
    case Kind::kPrecompiled:
      break;
  }
  return false;
}

PlainWords::PlainWords(const BpeDefinition& definition) {
  using Kind = NormalizerStep::Kind;
  const NormalizerSteps& steps = definition.normalizer();
  if (!definition.words_begin_at_marks() || steps.size() < 2) return;
  const auto prepend = steps.end() - 2;
  exist_ = *prepend == NormalizerStep{Kind::kPrepend, {}, kWordMark} &&
           steps.back() == NormalizerStep{Kind::kReplace, " ", kWordMark} &&
           std::all_of(steps.begin(), prepend, [](const NormalizerStep& step) {
             return step.kind == Kind::kReplace && stays_within_words(step);
           });
  others_.emplace_back(kWordMark);
  for (auto step = steps.begin(); exist_ && step != prepend; ++step)
    if (step->pattern != kWordMark) others_.push_back(step->pattern);
}

bool PlainWords::contain(std::string_view word) const noexcept {
  return exist_ && std::none_of(others_.begin(), others_.end(),
                                [&](const std::string& other) { return word.find(other) != std::string_view::npos; });
}

}  // namespace dragoman::tokenizer
