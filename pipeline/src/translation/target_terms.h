#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// The tokens of one or more words in a translation. Tokenizers that do not mark the beginning of words give different
/// tokens at the beginning of a text and after a space. With other tokenizers, both are equal.
struct TermTokens {
  std::vector<std::int32_t> first;   ///< at the beginning of a translation
  std::vector<std::int32_t> inside;  ///< anywhere else
};

/// Returns the tokens of a term; whitespace around it is ignored. Error{kInvalidArgument} if it is blank, or if the
/// tokenizer has only the unknown token for a part of it.
TermTokens term_tokens(const ModelView& model, std::string_view term);

/// Returns the tokens of a target prefix. Special tokens, such as language tags, may occur in it by name.
/// Error{kInvalidArgument} if it is impossible: too long for the model, unknown characters, or the name of the end.
std::vector<std::int32_t> prefix_tokens(const ModelView& model, std::string_view text);

/// Returns the word boundaries of the target language in tokens. The tokenizer must outlive the result.
std::shared_ptr<const decoding::WordBoundaries> target_word_boundaries(const tokenizer::Tokenizer& tokenizer);

/// Returns whether a search enforces constraints.
bool meets_constraints(const decoding::SearchPlan& search);

/// Adds each text to the texts that the search suppresses. Error{kInvalidArgument} as term_tokens().
void add_suppressed(const ModelView& model, const std::vector<std::string>& texts, decoding::DecodingOptions& options);

/// Reads one text per line; blank lines are ignored. Returns nothing for an empty path. Error{kBadInput} names file and
/// line.
std::vector<std::string> read_suppress_file(const std::filesystem::path& path);

}  // namespace dragoman::pipeline
