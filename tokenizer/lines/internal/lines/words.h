#pragma once

#include <algorithm>
#include <string_view>

namespace dragoman::tokenizer {

/// Visits the words of a line of pieces or ids, which are separated by spaces, with the offset of each.
template <class Visit>
void for_each_word(std::string_view line, Visit&& visit) {
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    if (end > begin) visit(line.substr(begin, end - begin), begin);
    begin = end + 1;
  }
}

}  // namespace dragoman::tokenizer
