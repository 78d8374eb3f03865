#pragma once

#include "normalizing/normalizer.h"

#include <cstddef>

namespace dragoman::tokenizer {

/// Returns whether the step is NFC, NFD, NFKC or NFKD.
bool is_unicode_form(NormalizerStep::Kind kind);

/// Makes ICU create the tables of a form, which it otherwise does at the first use.
void load_unicode_form(NormalizerStep::Kind kind);

/// Applies a Unicode normalisation form. Bytes that are not UTF-8 are kept. `limit` is as for Rewriter.
AlignedText normalize_unicode(NormalizerStep::Kind kind, AlignedText in, std::size_t limit);

}  // namespace dragoman::tokenizer
