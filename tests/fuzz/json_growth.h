#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dragoman::fuzz {

// Growths of a tokenizer.json: see FormatGrowth::make.

/// The seed with more pieces, which are numbered on.
std::string many_pieces(std::string_view seed, std::size_t size);
/// The seed with more added tokens, which are numbered on.
std::string many_added_tokens(std::string_view seed, std::size_t size);
/// The piece has letters that are a third of the file, unless that is longer than pieces may be.
std::string long_piece(std::string_view seed, std::size_t size);
std::string long_added_token(std::string_view seed, std::size_t size);
/// Pieces of up to a thousand letters, each of which is looked for at every place of a text.
std::string long_pieces(std::string_view seed, std::size_t size);
/// A template that names a token again and again, which stands for as many ids.
std::string long_template(std::string_view seed, std::size_t size);

}  // namespace dragoman::fuzz
