#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/pipeline/translate_service.h>

namespace dragoman::pipeline {

/// The tokens of a word, or of words, in a translation. Tokenizers that mark no beginnings of words give others at the
/// beginning of a text than behind a blank; with the others both are the same.
struct TermTokens {
  std::vector<std::int32_t> first;   ///< as the first ones of a translation
  std::vector<std::int32_t> inside;  ///< anywhere else
};

/// Blanks around the term are no part of it. Error{kInvalidArgument} if it is blank, or has what the tokenizer can only
/// call unknown.
TermTokens term_tokens(const ModelView& model, std::string_view term);

/// What a translation begins with, as tokens; special tokens (of a language, say) may stand in it by name.
/// Error{kInvalidArgument} where it cannot be: too long for the model, unknown characters, the name of the end.
std::vector<std::int32_t> prefix_tokens(const ModelView& model, std::string_view text);

/// Where words of the target language begin and end in tokens. The tokenizer must outlive it.
std::shared_ptr<const decoding::WordBoundaries> target_word_boundaries(const tokenizer::Tokenizer& tokenizer);

/// Whether a search meets constraints.
bool meets_constraints(const decoding::SearchPlan& search);

/// Adds each of the texts to what the search suppresses. Error{kInvalidArgument} as term_tokens().
void add_suppressed(const ModelView& model, const std::vector<std::string>& texts, decoding::DecodingOptions& options);

/// A text a line; blank lines are left out. Nothing for an empty path. Error{kBadInput} names file and line.
std::vector<std::string> read_suppress_file(const std::filesystem::path& path);

}  // namespace dragoman::pipeline
