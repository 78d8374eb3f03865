#pragma once

#include <string_view>

namespace dragoman::tokenizer {

/// Characters of Unicode 15.1 to 17 that decompose to one character each. The first one decomposes to `parts`, and the
/// following ones to the following characters.
struct YoungerCompatibility {
  char32_t first;
  char32_t last;
  char32_t parts;
};

/// A character of these versions and its full decomposition, which composes to the character.
struct YoungerComposite {
  char32_t character;
  std::u32string_view parts;
};

/// Characters of these versions that simple case folding changes: the first into `folded`, the following ones into the
/// following characters.
struct YoungerFolding {
  char32_t first;
  char32_t last;
  char32_t folded;
};

// From UnicodeData.txt and CaseFolding.txt.
inline constexpr YoungerCompatibility kYoungerCompatibilities[] = {
    {0xA7F1, 0xA7F1, U'S'}, {0x1CCD6, 0x1CCEF, U'A'}, {0x1CCF0, 0x1CCF9, U'0'}};
inline constexpr YoungerComposite kYoungerComposites[] = {
    {0x105C9, U"\U000105D2\u0307"},
    {0x105E4, U"\U000105DA\u0307"},
    {0x11383, U"\U00011382\U000113C9"},
    {0x11385, U"\U00011384\U000113BB"},
    {0x1138E, U"\U0001138B\U000113C2"},
    {0x11391, U"\U00011390\U000113C9"},
    {0x113C5, U"\U000113C2\U000113C2"},
    {0x113C7, U"\U000113C2\U000113B8"},
    {0x113C8, U"\U000113C2\U000113C9"},
    {0x16121, U"\U0001611E\U0001611E"},
    {0x16122, U"\U0001611E\U00016129"},
    {0x16123, U"\U0001611E\U0001611F"},
    {0x16124, U"\U00016129\U0001611F"},
    {0x16125, U"\U0001611E\U00016120"},
    {0x16126, U"\U0001611E\U0001611E\U0001611F"},
    {0x16127, U"\U0001611E\U00016129\U0001611F"},
    {0x16128, U"\U0001611E\U0001611E\U00016120"},
    {0x16D68, U"\U00016D67\U00016D67"},
    {0x16D69, U"\U00016D63\U00016D67"},
    {0x16D6A, U"\U00016D63\U00016D67\U00016D67"},
};
inline constexpr YoungerFolding kYoungerFoldings[] = {
    {0x1C89, 0x1C89, 0x1C8A},    {0xA7CB, 0xA7CB, 0x264},    {0xA7CC, 0xA7CC, 0xA7CD}, {0xA7CE, 0xA7CE, 0xA7CF},
    {0xA7D2, 0xA7D2, 0xA7D3},    {0xA7D4, 0xA7D4, 0xA7D5},   {0xA7DA, 0xA7DA, 0xA7DB}, {0xA7DC, 0xA7DC, 0x19B},
    {0x10D50, 0x10D65, 0x10D70}, {0x16EA0, 0x16EB8, 0x16EBB}};

/// Characters of these versions that join the preceding character, by the property Grapheme_Cluster_Break (Extend or
/// SpacingMark), and the one that joins the following character (Prepend).
struct YoungerMarks {
  char32_t first;
  char32_t last;
};
// As in the `tokenizers` library 0.23.3.
inline constexpr YoungerMarks kYoungerMarks[] = {
    {0x897, 0x897},     {0x1ACF, 0x1ADD},   {0x1AE0, 0x1AEB},   {0x10D69, 0x10D6D}, {0x10EFA, 0x10EFC},
    {0x113B8, 0x113C0}, {0x113C2, 0x113C2}, {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D0},
    {0x113D2, 0x113D2}, {0x113E1, 0x113E2}, {0x11B60, 0x11B67}, {0x11F5A, 0x11F5A}, {0x1611E, 0x1612F},
    {0x1E5EE, 0x1E5EF}, {0x1E6E3, 0x1E6E3}, {0x1E6E6, 0x1E6E6}, {0x1E6EE, 0x1E6EF}, {0x1E6F5, 0x1E6F5}};
inline constexpr char32_t kYoungerPrepend = 0x113D1;

}  // namespace dragoman::tokenizer
