#include "pre_tokenizing/word_class.h"

#include <unicode/uchar.h>

#include <dragoman/core/white_space.h>

namespace dragoman::tokenizer {

const WordClasses& WordClasses::get() {
  static const WordClasses classes;
  return classes;
}

WordClasses::WordClasses() {
  for (char32_t c = 0; c < kTable; ++c) table_[c] = of_rare(c);
}

WordClass WordClasses::of_rare(char32_t code_point) noexcept {
  const auto mask = U_GET_GC_MASK(static_cast<UChar32>(code_point));
  if ((mask & U_GC_L_MASK) != 0) return WordClass::kLetter;
  if ((mask & U_GC_N_MASK) != 0) return WordClass::kNumber;
  return core::is_white_space(code_point) ? WordClass::kSpace : WordClass::kOther;
}

}  // namespace dragoman::tokenizer
