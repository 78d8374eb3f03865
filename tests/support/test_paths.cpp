#include "test_data.h"

#include <stdexcept>

#ifndef DRAGOMAN_BUILT
#define DRAGOMAN_BUILT ""
#endif

// The only file of a test program that contains the paths of the trees. All others compile to the same result in every
// clone, so that ccache finds them.
namespace dragoman::testing {

std::filesystem::path source_folder() {
  const char* folder = std::getenv("DRAGOMAN_SOURCE");
  return folder != nullptr ? folder : DRAGOMAN_SOURCE_DIR;
}

std::filesystem::path golden_file(const std::string& name) {
  return std::filesystem::path(DRAGOMAN_GOLDEN_DIR) / name;
}

std::string built(std::string_view name) {
  // "name=path" each, separated by line feeds.
  const std::string all = std::string("\n") + DRAGOMAN_BUILT + "\n";
  const std::size_t at = all.find("\n" + std::string(name) + "=");
  if (at == std::string::npos)
    throw std::logic_error("the tests name no path '" + std::string(name) + "' in their CMakeLists.txt");
  const std::size_t begin = at + name.size() + 2;
  return all.substr(begin, all.find('\n', begin) - begin);
}

}  // namespace dragoman::testing
