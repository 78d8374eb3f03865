#include "reading/count_file.h"

#include <charconv>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

std::string_view CountFileReader::next() {
  if (text_.empty()) return {};
  ++line_;
  const std::size_t end = text_.find('\n');
  require_line(end != std::string_view::npos, "it has no line end: the file is cut short");
  const std::string_view line = text_.substr(0, end);
  text_.remove_prefix(end + 1);
  const std::size_t tab = line.find('\t');
  require_line(tab != std::string_view::npos, "it has no tab");
  count_ = parse_count(line.substr(0, tab));
  const std::string_view word = line.substr(tab + 1);
  check_word(word);
  require_line(count_ <= kMaxOccurrences - place_.counted - occurrences_,
               "with it, all counts together reach 2^63, which is too many");
  occurrences_ += count_;
  return word;
}

std::uint64_t CountFileReader::parse_count(std::string_view digits) const {
  std::uint64_t count = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, count);
  require_line(error != std::errc::result_out_of_range, "its count does not fit in 64 bits");
  require_line(error == std::errc() && stop == end, "what stands before its tab is not a count");
  require_line(count > 0, "its count is 0");
  return count;
}

void CountFileReader::check_word(std::string_view word) const {
  require_line(!word.empty(), "its word is empty");
  require_line(place_.whole_lines || word.find(' ') == std::string_view::npos, "its word holds a space");
}

void CountFileReader::require_line(bool is_right, std::string_view reason) const {
  core::require(is_right, core::ErrorCode::kBadInput,
                "{}: line {}: {}; each line must be a count, a tab and a word, as count-words writes them", place_.name,
                place_.first_line + line_, reason);
}

}  // namespace dragoman::tokenizer
