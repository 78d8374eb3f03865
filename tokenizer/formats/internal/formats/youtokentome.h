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

/// Returns the steps that make every run of spaces of any kind one space, and remove those at both ends of a text.
NormalizerSteps youtokentome_spaces();

/// Returns the treatment of text by YouTokenToMe: words are separated by any kind of space and have a leading mark.
CharacterText youtokentome_text();

/// Returns the file of a tokenizer. Its text must be youtokentome_text(), and its special pieces must have the names
/// that read_youtokentome() gives them. Throws Error{kUnsupported} with the reason for other tokenizers.
std::string write_youtokentome(const BpeDefinition& definition);

}  // namespace dragoman::tokenizer
