#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// Returns one regular expression for a tokenizer.json that matches what any of the patterns matches, with priority for
/// the first. With `marked`, it is for text whose spaces have become word marks (U+2581): where a pattern matches a
/// space, the result matches a mark, and it matches marks nowhere else. Empty if there are no patterns. Throws like
/// parse_pattern(), and for a pattern that contains the mark.
std::string join_patterns(const std::vector<std::string>& patterns, bool marked);

}  // namespace dragoman::tokenizer
