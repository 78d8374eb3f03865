#include "options/host_options.h"

#include <cstdlib>

namespace dragoman::cli {

std::filesystem::path cache_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "dragoman";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".cache" / "dragoman";
  return {};
}

}  // namespace dragoman::cli
