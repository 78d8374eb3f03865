#include "tree.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace dragoman::faults {

namespace fs = std::filesystem;

Tree read_tree(const fs::path& folder) {
  Tree tree;
  if (!fs::is_directory(folder)) return tree;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      tree.emplace(entry.path().lexically_relative(folder).string(), read_bytes(entry.path()));
  return tree;
}

std::string read_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& file, const std::string& content) {
  std::ofstream out(file, std::ios::binary);
  if (!(out << content).flush()) throw std::runtime_error("cannot write " + file.string());
}

bool lies_in(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace dragoman::faults
