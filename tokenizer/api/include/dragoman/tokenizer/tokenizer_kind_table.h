#pragma once

#include <dragoman/core/option_table.h>
#include <dragoman/tokenizer/tokenizer_kind.h>

namespace dragoman::tokenizer {

/// `tokenizer_type` and `tokenizer_options`, as pipeline stages and commands have them.
const core::OptionTable<TokenizerKind>& tokenizer_kind_table();

}  // namespace dragoman::tokenizer
