#pragma once

#include <filesystem>
#include <vector>

namespace dragoman::plugins {

/// Requires that merges.txt in the folder of a vocab.json may be written. The user has not named it. Call it before
/// tokenizer::write_tokenizer_file() writes FileKind::kGpt2 to `vocabulary`. Throws Error{kInvalidArgument} if
///
/// - merges.txt is a link, because its target may be anything,
/// - merges.txt exists and the vocab.json does not, so it belongs to something else, or
/// - merges.txt is an input.
void require_free_merges(const std::filesystem::path& vocabulary, const std::vector<std::filesystem::path>& inputs);

/// Returns the file that GPT-2's tokenizer has beside this one: merges.txt or vocab.json, with a prefix as in
/// "roberta-vocab.json".
std::filesystem::path gpt2_companion(const std::filesystem::path& file);

}  // namespace dragoman::plugins
