#pragma once

namespace dragoman::tokenizer {

/// The supported kinds of tokenizer files. docs/reference/tokenizer-formats.md lists the supported parts of each.
enum class FileKind {
  kTokenizerJson,  ///< Hugging Face `tokenizer.json`, Dragoman's native format
  kSubwordNmt,     ///< codes of subword-nmt, version 0.1 or 0.2
  kFastBpe,        ///< codes of fastBPE: a count after each merge, no version
  kGpt2,           ///< `vocab.json` with `merges.txt` next to it
  kSentencePiece,  ///< a SentencePiece `.model` of type BPE or unigram
  kTiktoken,       ///< a rank file of tiktoken: on each line a token in base64 and its rank
  kYouTokenToMe,   ///< a model of YouTokenToMe
};

}  // namespace dragoman::tokenizer
