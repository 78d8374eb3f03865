#pragma once

#include <dragoman/tokenizer/tokenizer_spec.h>

namespace dragoman::core {
template <class Options>
class OptionTable;  // core/option_table.h
}  // namespace dragoman::core

namespace dragoman::tokenizer {

/// Returns the options `tokenizer_type` and `tokenizer_options` of pipeline stages and commands. The table lives
/// as long as the process. Thread-safe.
const core::OptionTable<TokenizerSpec>& tokenizer_spec_table();

}  // namespace dragoman::tokenizer
