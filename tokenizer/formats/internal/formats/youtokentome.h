#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Whether a file that begins with `content`, whose first lines are these, looks like a model of YouTokenToMe.
bool looks_like_youtokentome(std::string_view content, const std::vector<std::string_view>& lines);

/// Reads a model of YouTokenToMe: its ids, with the special pieces `<UNK>`, `<PAD>`, `<BOS>` and `<EOS>`. `name` begins
/// every message. Throws Error{kBadInput}, naming the line, for a damaged file.
BpeDefinition read_youtokentome(std::string_view text, const std::string& name);

}  // namespace dragoman::tokenizer
