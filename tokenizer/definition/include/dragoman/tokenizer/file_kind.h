#pragma once

namespace dragoman::tokenizer {

/// The kinds of tokenizer files that can be read; docs/reference/tokenizer-formats.md lists what is read of each.
enum class FileKind {
  kTokenizerJson,  ///< Hugging Face `tokenizer.json`, our native file
  kSubwordNmt,     ///< codes of subword-nmt, version 0.1 or 0.2
  kFastBpe,        ///< codes of fastBPE: a count after each merge, no version
  kGpt2,           ///< `vocab.json` with `merges.txt` next to it
  kSentencePiece,  ///< a SentencePiece `.model` of type BPE or unigram
  kTiktoken,       ///< a rank file of tiktoken: a token in base64 and its rank on each line
  kYouTokenToMe,   ///< a model of YouTokenToMe
};

}  // namespace dragoman::tokenizer
