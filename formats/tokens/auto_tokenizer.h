#pragma once

#include "dragoman/imports/exports.h"

#include <filesystem>

namespace dragoman::imports {

/// Writes the tokenizers of an export so that `AutoTokenizer.from_pretrained()` gives the same ids as Dragoman,
/// followed by the end. The post-processor of a tokenizer.json adds the end. SentencePiece models become the files of
/// MarianTokenizer. If each side has a tokenizer.json, that file is the source's, and the folder also has both.
/// Tokenizers of other kinds are not written.
void write_auto_tokenizer(const ExportedModel& exported, std::int64_t longest, const std::filesystem::path& folder);

/// Writes the tokenizers of a T5 model, whose SentencePiece model is in spiece.model. The model is also written as
/// tokenizer.json or, if this cannot represent it, as the files of MarianTokenizer.
void write_t5_auto_tokenizer(const ExportedModel& exported, std::int64_t longest, const std::filesystem::path& folder);

}  // namespace dragoman::imports
