#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::formats {

/// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_of(std::string_view bytes);
/// The same of a file's bytes. Throws Error{kIo}.
std::string sha256_of_file(const std::filesystem::path& path);

/// Writes `folder`/SHA256SUMS over all other files of the folder, sorted by name, as `sha256sum *` prints and
/// `sha256sum -c` reads it. Files named *.partial are left out.
void write_checksums(const std::filesystem::path& folder);

/// Whether a folder may hold files that SHA256SUMS does not list.
enum class UnlistedFiles : std::uint8_t { kRefuse, kAllow };

/// Checks every line of `folder`/SHA256SUMS, and that no file of the folder is unlisted; returns the names, sorted.
/// Reads all bytes of all files. Throws Error{kBadInput} that names every file that is missing, unlisted or different
/// (expected and actual sum), or SHA256SUMS itself if it is missing; Error{kIo} if one cannot be read.
std::vector<std::string> verify_checksums(const std::filesystem::path& folder,
                                          UnlistedFiles unlisted = UnlistedFiles::kRefuse);
/// The same, with unlisted files allowed, of a folder that has sums. For whoever makes a new folder of it, whose sums
/// would vouch for what is damaged.
void verify_checksums_if_there(const std::filesystem::path& folder);

}  // namespace dragoman::formats
