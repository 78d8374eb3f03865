#pragma once

#include <filesystem>
#include <string_view>

namespace dragoman::core {

/// Writes a file whose name comes from the user, through an OutputFile: links are followed, and "-" is standard output.
/// write_file() is for the program's own files and does not follow links.
void write_named_file(const std::filesystem::path& path, std::string_view content);

}  // namespace dragoman::core
