#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace dragoman::core {

/// The number of bytes that are read or written at a time.
inline constexpr std::size_t kFileBlock = std::size_t{1} << 20;

/// The compression of an output file, chosen by the suffix of its name.
enum class Compression : std::uint8_t { kNone, kGzip, kZstd };
Compression compression_of(const std::filesystem::path& name);

/// Compresses the text as one gzip member or one Zstandard frame. Each is independent, and a file may be a sequence of
/// any number of them.
std::string compress_member(Compression compression, std::string_view text);

/// The part of an interrupted file after which it can be continued.
struct CompleteLines {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;  ///< of the file, not of the decompressed text
};

/// Counts the lines of a file up to its last complete one. For a compressed file, up to the last complete member that
/// ends in a line feed. Counts at most `most` lines; for a compressed file, the members that hold at most that number
/// together. `fd` must be at the beginning of the file; `name` is for messages.
CompleteLines complete_lines(Compression compression, int fd, const std::string& name, std::uint64_t most);

}  // namespace dragoman::core
