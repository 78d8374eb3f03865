#pragma once

#include <string>

#include <dragoman/evaluation/bleu.h>

namespace dragoman::cli {

/// The values of `evaluate --tokenize`, for its help.
inline constexpr const char* kBleuTokenizers =
    "13a, intl, char, none, zh, ja-mecab, spm (flores101), flores200 or spBLEU-1K";

/// Sets the tokenizer with that name. SentencePiece models of sacreBLEU are read from `model` or, if that is empty,
/// from the folder of sacreBLEU. The dictionary of ja-mecab is read from the folder `model`, or from Debian's.
/// Signatures name a SentencePiece `model` by its SHA-256. UsageError for an unknown name, and for a model that no
/// tokenizer needs.
void set_bleu_tokenizer(const std::string& name, const std::string& model, evaluation::BleuOptions& options);
/// Throws the UsageErrors of set_bleu_tokenizer() without reading anything.
void check_bleu_tokenizer(const std::string& name, const std::string& model);

}  // namespace dragoman::cli
