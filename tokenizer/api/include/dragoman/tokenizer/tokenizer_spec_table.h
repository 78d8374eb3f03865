#pragma once

#include <dragoman/tokenizer/tokenizer_spec.h>

namespace dragoman::core {
template <class Options>
class OptionTable;  // core/option_table.h
}  // namespace dragoman::core

namespace dragoman::tokenizer {

/// `tokenizer_type` and `tokenizer_options`, as pipeline stages and commands have them.
const core::OptionTable<TokenizerSpec>& tokenizer_spec_table();

}  // namespace dragoman::tokenizer
