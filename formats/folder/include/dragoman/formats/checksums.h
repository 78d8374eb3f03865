#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::formats {

/// Returns the SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_of(std::string_view bytes);
/// Returns the SHA-256 of a file's content. Throws Error{kIo}.
std::string sha256_of_file(const std::filesystem::path& path);

/// Writes `folder`/SHA256SUMS for all other files of the folder, sorted by name. The format is what `sha256sum *`
/// prints and `sha256sum -c` reads. Files named *.partial are skipped.
void write_checksums(const std::filesystem::path& folder);

/// Specifies whether a folder may contain files that SHA256SUMS does not list.
enum class UnlistedFiles : std::uint8_t { kRefuse, kAllow };

/// Verifies every line of `folder`/SHA256SUMS, and that the folder has no unlisted file. Returns the names, sorted.
/// Reads all bytes of all files.
///
/// Throws Error{kBadInput} that names every file that is missing, unlisted or different (with expected and actual sum),
/// or SHA256SUMS itself if it is missing. Throws Error{kIo} if a file cannot be read.
///
///     for (const std::string& name : verify_checksums("models/de-en")) std::cout << name << ": OK\n";
std::vector<std::string> verify_checksums(const std::filesystem::path& folder,
                                          UnlistedFiles unlisted = UnlistedFiles::kRefuse);
/// Verifies a folder if it has sums, with unlisted files allowed. Call it before a new folder is written from this one,
/// since the new sums would otherwise certify damaged files.
void verify_checksums_if_there(const std::filesystem::path& folder);

}  // namespace dragoman::formats
