#include "source_tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace dragoman::testing {
namespace {

namespace fs = std::filesystem;

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cpp" || extension == ".cu";
}

SourceFile read_source(const fs::path& root, const fs::path& path) {
  static const std::regex include(R"(^#include [<"](dragoman/[^>"]+)[>"])");
  SourceFile file;
  file.path = fs::relative(path, root).generic_string();
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    ++file.lines;
    std::smatch match;
    if (line.starts_with("#include") && std::regex_search(line, match, include)) file.includes.push_back(match[1]);
  }
  return file;
}

/// "`core/`" or "core" without the marks.
std::string folder_name(std::string cell) {
  std::erase_if(cell, [](char c) { return c == '`' || c == ' ' || c == '/'; });
  return cell;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

void add_indirect_arrows(std::map<std::string, std::set<std::string>>& allowed) {
  for (bool grown = true; grown;) {
    grown = false;
    for (auto& [folder, below] : allowed)
      for (const std::string& direct : std::set<std::string>(below))
        for (const std::string& indirect : allowed[direct]) grown |= below.insert(indirect).second;
  }
}

}  // namespace

std::vector<SourceFile> read_sources(const fs::path& root, const std::set<std::string>& top_level) {
  std::vector<SourceFile> files;
  for (const std::string& folder : top_level)
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && is_source(entry.path())) files.push_back(read_source(root, entry.path()));
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::map<std::string, std::string> headers_by_name(const std::vector<SourceFile>& files) {
  std::map<std::string, std::string> headers;
  for (const SourceFile& file : files)
    if (const std::size_t at = file.path.find("include/dragoman/"); at != std::string::npos)
      headers[file.path.substr(at + std::string("include/").size())] = file.path;
  return headers;
}

Arrows arrows_between(const std::vector<SourceFile>& files) {
  const auto headers = headers_by_name(files);
  Arrows arrows;
  for (const SourceFile& file : files)
    for (const std::string& include : file.includes)
      if (const auto header = headers.find(include); header != headers.end()) {
        const std::string below = header->second.substr(0, header->second.find('/'));
        if (below != file.top_level())
          arrows.emplace(std::pair{file.top_level(), below}, file.path + " includes " + include);
      }
  return arrows;
}

std::map<std::string, std::set<std::string>> read_allowed_arrows(const std::string& page) {
  const std::size_t begin = page.find("\n## Where things are\n");
  if (begin == std::string::npos) throw std::runtime_error("the page has no section 'Where things are'");
  std::map<std::string, std::set<std::string>> allowed;
  std::istringstream section(page.substr(begin + 1, page.find("\n## ", begin + 1) - begin - 1));
  for (std::string line; std::getline(section, line);) {
    const auto cells = split(line, '|');
    if (cells.size() < 4 || !cells[1].starts_with(" `") || !cells[1].ends_with("/` ")) {
      if (!allowed.empty() && !line.starts_with('|')) break;  // the end of the first table
      continue;
    }
    auto& below = allowed[folder_name(cells[1])];
    for (const std::string& cell : split(cells[3], ','))
      if (const std::string name = folder_name(cell); !name.empty()) below.insert(name);
  }
  add_indirect_arrows(allowed);
  return allowed;
}

}  // namespace dragoman::testing
