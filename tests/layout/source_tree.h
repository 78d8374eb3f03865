#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dragoman::testing {

/// A source or header of the library, with the headers of the library that it includes as `<dragoman/...>`.
struct SourceFile {
  std::string path;  ///< relative to the source tree, e.g. "decoding/src/loop/decode_all.cpp"
  std::size_t lines = 0;
  std::vector<std::string> includes;  ///< e.g. "dragoman/core/error.h"

  /// The first folder of the path.
  std::string top_level() const { return path.substr(0, path.find('/')); }
};

/// A pair of top-level folders, and one include that makes the first depend on the second.
using Arrows = std::map<std::pair<std::string, std::string>, std::string>;

/// The C++ and CUDA sources of the library under `root`, from these top-level folders.
std::vector<SourceFile> read_sources(const std::filesystem::path& root, const std::set<std::string>& top_level);

/// The headers by the names under which they are included.
std::map<std::string, std::string> headers_by_name(const std::vector<SourceFile>& files);

/// Which top-level folders include which.
Arrows arrows_between(const std::vector<SourceFile>& files);

/// The table in the section "Where things are" of an architecture page: each top-level folder with the folders that it
/// may include, those that these may include among them.
std::map<std::string, std::set<std::string>> read_allowed_arrows(const std::string& page);

}  // namespace dragoman::testing
