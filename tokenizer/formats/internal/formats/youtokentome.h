#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Returns whether a file that begins with `content`, whose first lines are `lines`, looks like a model of
/// YouTokenToMe.
bool looks_like_youtokentome(std::string_view content, const std::vector<std::string_view>& lines);

/// Reads a model of YouTokenToMe with its ids and the special pieces `<UNK>`, `<PAD>`, `<BOS>` and `<EOS>`. Every
/// message begins with `name`. Throws Error{kBadInput} that names the line for a damaged file.
BpeDefinition read_youtokentome(std::string_view text, const std::string& name);

}  // namespace dragoman::tokenizer
