#include "dragoman/core/resident_memory.h"

#include <cstdio>
#include <memory>

#include <unistd.h>

namespace dragoman::core {

std::uint64_t resident_memory() noexcept {
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  // The fields, in pages: the size of the process, and the part of it that is resident.
  const std::unique_ptr<std::FILE, Close> file(std::fopen("/proc/self/statm", "re"));
  unsigned long all = 0;
  unsigned long resident = 0;
  if (!file || std::fscanf(file.get(), "%lu %lu", &all, &resident) != 2) return 0;
  return std::uint64_t{resident} * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace dragoman::core
