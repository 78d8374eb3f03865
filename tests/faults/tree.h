#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace dragoman::faults {

/// The regular files below a folder: their relative paths and contents.
using Tree = std::map<std::string, std::string>;

/// Empty if there is no such folder.
Tree read_tree(const std::filesystem::path& folder);

std::string read_bytes(const std::filesystem::path& file);
void write_bytes(const std::filesystem::path& file, const std::string& content);

/// `path` lies in the folder `folder`, or is it.
bool lies_in(const std::string& path, const std::string& folder);

}  // namespace dragoman::faults
