#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace dragoman::imports {

/// A zip archive (PKWARE's APPNOTE 6.3, with its zip64 records) whose files are stored uncompressed, as torch and numpy
/// write them. If the caller permits it, files may also be deflated.
///
/// Opening reads and validates the directory at the end: every file is inside the archive, names are unique, and the
/// files together are no larger than the archive. The bytes must outlive the object. Immutable and thread-safe.
class ZipArchive {
 public:
  using Bytes = std::span<const std::byte>;
  enum class Packed : bool { kRefused, kTaken };

  /// A deflated file (RFC 1951).
  struct PackedFile {
    Bytes bytes;
    std::uint64_t size = 0;  ///< uncompressed; at most the size that deflating can reduce to the packed size
    std::uint32_t sum = 0;   ///< CRC-32 of the uncompressed data
  };

  /// `name` is for messages. Throws Error{kBadInput} for bytes that are not an archive or are damaged, and
  /// Error{kUnsupported} for files that are compressed or encrypted.
  ZipArchive(Bytes bytes, std::string name, Packed packed = Packed::kRefused);

  /// Returns the stored files by name.
  const std::map<std::string, std::span<const std::byte>, std::less<>>& files() const noexcept { return files_; }
  const std::span<const std::byte>* find(std::string_view file) const;
  /// Returns the deflated files by name. files() does not contain them.
  const std::map<std::string, PackedFile, std::less<>>& packed_files() const noexcept { return packed_; }
  /// Reads a stored file and throws Error{kBadInput} unless its CRC-32 is the one in the directory.
  void check_sum(std::string_view file) const;
  /// Decompresses the first bytes of a deflated file, or all of it if `out` has its size. Throws Error{kBadInput} for
  /// damaged data. If all of it is decompressed, the CRC-32 is verified too.
  void unpack(const PackedFile& file, std::span<std::byte> out) const;
  const std::string& name() const noexcept { return name_; }

  /// Returns whether `beginning` starts like an archive.
  static bool is_archive(std::span<const std::byte> beginning) noexcept;

 private:
  std::string name_;
  std::map<std::string, std::span<const std::byte>, std::less<>> files_;
  std::map<std::string, PackedFile, std::less<>> packed_;
  std::map<std::string, std::uint32_t, std::less<>> sums_;
};

}  // namespace dragoman::imports
