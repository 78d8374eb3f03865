#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::formats {

/// SHA-256 of a file's bytes as 64 lower-case hexadecimal digits. Throws Error{kIo}.
std::string sha256_of_file(const std::filesystem::path& path);

/// Writes `folder`/SHA256SUMS over all other files of the folder, sorted by name, as `sha256sum *` prints and
/// `sha256sum -c` reads it. Files named *.partial are left out.
void write_checksums(const std::filesystem::path& folder);

/// Checks every line of `folder`/SHA256SUMS, and that no file of the folder is unlisted; returns the names. Reads all
/// bytes of all files. Throws Error{kBadInput} that names every file that is missing, unlisted or different (expected
/// and actual sum).
std::vector<std::string> verify_checksums(const std::filesystem::path& folder);

}  // namespace dragoman::formats
