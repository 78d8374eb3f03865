#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace dragoman::core {

/// Bytes of a file that are read or written at a time.
inline constexpr std::size_t kFileBlock = std::size_t{1} << 20;

/// How an output file is compressed, by the end of its name.
enum class Compression : std::uint8_t { kNone, kGzip, kZstd };
Compression compression_of(const std::filesystem::path& name);

/// One member of a gzip file or one frame of a Zstandard file: complete by itself, and files of these formats are any
/// number of them in a row.
std::string compress_member(Compression compression, std::string_view text);

/// How far an interrupted file can be continued.
struct CompleteLines {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;  ///< of the file, not of the text
};

/// Counts the lines of a file up to its last complete one; of a compressed file, up to its last complete member that
/// ends in a line feed. `fd` is at the file's beginning; `name` is for messages.
/// At most `most` lines; of a compressed file, the members that hold no more.
CompleteLines complete_lines(Compression compression, int fd, const std::string& name, std::uint64_t most);

}  // namespace dragoman::core
