#pragma once

#include <string>

namespace dragoman::evaluation {

// What mteval-v13a and Tercom do alike for Western languages.

/// Spaces around ASCII punctuation other than ' , - and . which the next function treats.
std::string pad_western_punctuation(const std::string& text);

/// Spaces around periods and commas that do not stand between digits, and around a dash after a digit. For this to hold
/// at both ends, `text` must begin and end with a space.
std::string pad_numeric_punctuation(const std::string& text);

/// &quot; &amp; &lt; and &gt;, in this order: "&amp;lt;" ends as "<".
void resolve_entities(std::string& text);

}  // namespace dragoman::evaluation
