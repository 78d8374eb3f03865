#pragma once

#include <string>

namespace dragoman::evaluation {

// The rules for Western languages that mteval-v13a and Tercom share.

/// Puts spaces around ASCII punctuation except ' , - and . (the next function handles , - and .).
std::string pad_western_punctuation(const std::string& text);

/// Puts spaces around periods and commas that are not between digits, and around a dash after a digit. `text` must
/// begin and end with a space, so that the rules apply at both ends.
std::string pad_numeric_punctuation(const std::string& text);

/// Replaces &quot; &amp; &lt; and &gt;, in this order: "&amp;lt;" becomes "<".
void resolve_entities(std::string& text);

}  // namespace dragoman::evaluation
