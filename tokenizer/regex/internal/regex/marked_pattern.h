#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// One regular expression for a tokenizer.json that matches what any of these match, the first of them first: with
/// `marked`, in text whose spaces have become word marks (U+2581), so that what matched a space there matches a mark,
/// and nothing else does. Empty if there are none. Throws as parse_pattern(), and for a pattern that names the mark.
std::string join_patterns(const std::vector<std::string>& patterns, bool marked);

}  // namespace dragoman::tokenizer
