#include "word_splitting.h"

#include <algorithm>

namespace dragoman::tokenizer {

WordSplitting word_splitting(const BpeDefinition& definition) {
  using Kind = NormalizerStep::Kind;
  const auto& steps = definition.normalizer;
  const bool has_user_symbols = std::any_of(definition.added_tokens.begin(), definition.added_tokens.end(),
                                            [](const AddedToken& token) { return !token.special; });
  if (has_user_symbols || cuts_inside_words(definition) || definition.metaspace) return WordSplitting::kFull;
  if (definition.split_pattern.empty() && steps.empty()) return WordSplitting::kNone;
  const bool only_marks = definition.split_pattern == kWordMark && steps.size() == 2 &&
                          steps[0].kind == Kind::kPrepend && steps[1].kind == Kind::kReplace;
  return only_marks ? WordSplitting::kAtMarks : WordSplitting::kFull;
}

bool cuts_inside_words(const BpeDefinition& definition) {
  return definition.split_digits || definition.split_case || !definition.protected_pattern.empty();
}

}  // namespace dragoman::tokenizer
