#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace dragoman::imports {

/// A zip archive (PKWARE's APPNOTE 6.3, with its zip64 records) whose files are stored as they are, as torch and numpy
/// write them, or, where the caller takes such, deflated. The directory at the end is read and checked on opening:
/// every file lies in the archive, no two have one name, and together they are no larger than it. The bytes must
/// outlive the object. Immutable: any thread may use it.
class ZipArchive {
 public:
  using Bytes = std::span<const std::byte>;
  enum class Packed : bool { kRefused, kTaken };

  /// A file that is deflated (RFC 1951).
  struct PackedFile {
    Bytes bytes;
    std::uint64_t size = 0;  ///< unpacked; no more than deflating can have made so small
    std::uint32_t sum = 0;   ///< CRC-32 of what is unpacked
  };

  /// `name` stands in messages. Error{kBadInput} for what is no archive or damaged; Error{kUnsupported} for files that
  /// are compressed or encrypted.
  ZipArchive(Bytes bytes, std::string name, Packed packed = Packed::kRefused);

  /// By their names.
  const std::map<std::string, std::span<const std::byte>, std::less<>>& files() const noexcept { return files_; }
  const std::span<const std::byte>* find(std::string_view file) const;
  /// Those that are deflated; files() has none of them.
  const std::map<std::string, PackedFile, std::less<>>& packed_files() const noexcept { return packed_; }
  /// Error{kBadInput} unless a file that is stored has the CRC-32 that the directory says. Reads all of it.
  void check_sum(std::string_view file) const;
  /// The first bytes of a deflated file, all of it if `out` is as long. Error{kBadInput} for what is damaged; of all of
  /// it the CRC-32 is compared, too.
  void unpack(const PackedFile& file, std::span<std::byte> out) const;
  const std::string& name() const noexcept { return name_; }

  /// Whether a file that begins with these bytes says that it is an archive.
  static bool is_archive(std::span<const std::byte> beginning) noexcept;

 private:
  std::string name_;
  std::map<std::string, std::span<const std::byte>, std::less<>> files_;
  std::map<std::string, PackedFile, std::less<>> packed_;
  std::map<std::string, std::uint32_t, std::less<>> sums_;
};

}  // namespace dragoman::imports
