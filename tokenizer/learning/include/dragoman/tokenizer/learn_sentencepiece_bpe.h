#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/learn_unigram_options.h>

namespace dragoman::tokenizer {

/// Learns a SentencePiece model of type BPE by the rules of `spm_train --model_type=bpe` and returns the `.model`. Use
/// it to get the pieces of spm_train; `dragoman.compat.sentencepiece` does. learn_bpe() can write a SentencePiece model
/// too (LearnOptions::sentencepiece): it has Dragoman's own rules for words, accepts count files and a limit of memory,
/// and keeps only what both programs express, so its pieces differ.
///
/// By default, pieces cross neither scripts, numbers nor spaces. Any normalisation of SentencePiece is possible. The
/// options `seed_size`, `shrinking_factor` and `sub_iterations` have no effect. The model does not store the options
/// that only learning uses.
///
///     const LearnUnigramOptions options{.vocab_size = 8000, .byte_fallback = false};
///     core::write_file("joint.spm", learn_sentencepiece_bpe({"train.de", "train.en"}, options));     // core/file.h
///
/// A merge joins the most frequent pair of neighbouring pieces. Among pairs of equal count, it joins the pair whose
/// text has fewer characters, then the pair whose text is first in the order of bytes. One rule differs from
/// spm_train: in a run of equal pieces, occurrences are counted without overlap. The order of ids is: special tokens,
/// user-defined symbols, bytes, merged pieces in the order of the merges, characters by falling count. The score of
/// the i-th merged piece or character is -i.
///
/// Throws like learn_unigram(). Warns on `log` if pairs run out before the vocabulary has its size.
std::string learn_sentencepiece_bpe(const std::vector<std::filesystem::path>& inputs,
                                    const LearnUnigramOptions& options, const core::ProgressSink& progress = {},
                                    const core::LogSink& log = {}, std::stop_token stop = {});

}  // namespace dragoman::tokenizer
