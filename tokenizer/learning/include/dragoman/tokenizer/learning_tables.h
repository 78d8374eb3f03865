#pragma once

#include <dragoman/core/option_table.h>
#include <dragoman/tokenizer/learn_bpe_options.h>
#include <dragoman/tokenizer/learn_unigram_options.h>

namespace dragoman::tokenizer {

/// The options of learn_bpe(), from which the command line and the Python package take names, ranges and help:
///
///     core::OptionReader reader(core::Json{{"vocab_size", 8000}}, "options");     // core/json.h
///     LearnOptions options;
///     learn_bpe_table().read(reader, options);
///     reader.finish();
///
/// The keys are the members' names, with two exceptions: `protect` stands for `protected_patterns`, and `sentencepiece`
/// is a switch with the keys of SentencePieceNormalization beside it, where `character_map` is the name of the map.
/// `smallest_vocab_size` has no key.
const core::OptionTable<LearnOptions>& learn_bpe_table();

/// The options of learn_unigram(). The keys of `normalization` are those of SentencePieceNormalization, where
/// `character_map` is the name of the map.
const core::OptionTable<LearnUnigramOptions>& learn_unigram_table();

}  // namespace dragoman::tokenizer
