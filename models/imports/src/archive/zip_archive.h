#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace dragoman::imports {

/// A zip archive (PKWARE's APPNOTE 6.3, with its zip64 records) whose files are stored as they are, as torch and numpy
/// write them. The directory at the end is read and checked on opening: every file lies in the archive, and no two have
/// one name. The bytes must outlive the object. Immutable: any thread may use it.
class ZipArchive {
 public:
  /// `name` stands in messages. Error{kBadInput} for what is no archive or damaged; Error{kUnsupported} for files that
  /// are compressed or encrypted.
  ZipArchive(std::span<const std::byte> bytes, std::string name);

  /// By their names.
  const std::map<std::string, std::span<const std::byte>, std::less<>>& files() const noexcept { return files_; }
  const std::span<const std::byte>* find(std::string_view file) const;
  const std::string& name() const noexcept { return name_; }

  /// Whether a file that begins with these bytes says that it is an archive.
  static bool is_archive(std::span<const std::byte> beginning) noexcept;

 private:
  std::string name_;
  std::map<std::string, std::span<const std::byte>, std::less<>> files_;
};

}  // namespace dragoman::imports
