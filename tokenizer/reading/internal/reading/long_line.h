#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Call it while a std::bad_alloc is handled that lines of `text` caused. If the longest line has 1 MiB or more, throws
/// Error{kIo} that names it and the remedy. Otherwise rethrows the std::bad_alloc. `lines_before` is the number of
/// lines before `text`, and `name` is the file.
[[noreturn]] void fail_for_long_line(std::string_view text, std::uint64_t lines_before, const std::string& name);

}  // namespace dragoman::tokenizer
