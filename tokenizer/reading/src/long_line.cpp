#include "reading/long_line.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

void fail_for_long_line(std::string_view text, std::uint64_t lines_before, const std::string& name) {
  constexpr std::size_t kLong = std::size_t{1} << 20;
  std::size_t longest = 0;
  std::uint64_t number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++lines_before) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin > longest) {
      longest = end - begin;
      number = lines_before + 1;
    }
    begin = end + 1;
  }
  if (longest < kLong) throw;
  core::fail(core::ErrorCode::kIo,
             "{}: line {}: out of memory for a line of {} bytes, which needs dozens of bytes for each; split the line",
             name, number, longest);
}

}  // namespace dragoman::tokenizer
