#include "dragoman/formats/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file_name.h>
#include <dragoman/core/lfs_pointer.h>
#include <dragoman/core/quote.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;

/// A mapping and its file, for signal handlers, which must not lock or allocate.
struct Mapping {
  std::atomic<bool> is_taken = false;
  std::atomic<const std::byte*> begin = nullptr;  ///< nullptr until the other members are set
  std::atomic<const std::byte*> end = nullptr;
  std::array<char, 256> name{};
};

/// Messages cannot name the files of further mappings.
std::array<Mapping, 1024> mappings;

void note_mapping(std::span<const std::byte> bytes, const std::string& file) {
  const auto free = std::ranges::find_if(mappings, [](Mapping& mapping) { return !mapping.is_taken.exchange(true); });
  if (free == mappings.end()) return;
  const std::string name = core::printable(file, free->name.size() - sizeof("..."));
  free->name.fill('\0');
  std::ranges::copy(name.substr(0, free->name.size() - 1), free->name.begin());
  free->end = bytes.data() + bytes.size();
  free->begin = bytes.data();
}

void forget_mapping(std::span<const std::byte> bytes) noexcept {
  const auto noted =
      std::ranges::find_if(mappings, [&](const Mapping& mapping) { return mapping.begin == bytes.data(); });
  if (noted == mappings.end()) return;
  noted->begin = nullptr;
  noted->is_taken = false;
}

std::span<const std::byte> map(int fd, const std::string& name) {
  struct stat status {};
  core::require(::fstat(fd, &status) == 0, ErrorCode::kIo, "{}: cannot examine: {}", name, std::strerror(errno));
  core::require(S_ISREG(status.st_mode), ErrorCode::kIo,
                "{}: is not a regular file, so it cannot be mapped; copy it to one", name);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  core::require(data != MAP_FAILED, ErrorCode::kIo, "{}: cannot map {} bytes: {}", name, size, std::strerror(errno));
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  core::require_no_nul(path);
  // Without O_NONBLOCK, opening a named pipe would wait for a writer before it could be rejected.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  core::require(fd >= 0, ErrorCode::kIo, "{}: cannot open for reading: {}; check the path and its permissions",
                path.string(), std::strerror(errno));
  try {
    bytes_ = map(fd, path.string());
    if (!bytes_.empty()) note_mapping(bytes_, path.string());
    core::require_no_lfs_pointer({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}, path.string());
  } catch (...) {
    ::close(fd);
    unmap();
    throw;
  }
  ::close(fd);
}

MappedFile::~MappedFile() {
  unmap();
}

void MappedFile::unmap() noexcept {
  if (bytes_.empty()) return;
  forget_mapping(bytes_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

const char* name_of_mapped_file(const void* address) noexcept {
  for (const Mapping& mapping : mappings)
    if (const std::byte* const begin = mapping.begin; begin != nullptr && address >= begin && address < mapping.end)
      return mapping.name.data();
  return nullptr;
}

void release_pages(const void* data, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (address + page - 1) / page * page;
  const std::uintptr_t end = (address + bytes) / page * page;
  auto* const first = static_cast<std::byte*>(const_cast<void*>(data)) + (begin - address);
  if (begin < end) ::madvise(first, end - begin, MADV_DONTNEED);
}

}  // namespace dragoman::formats
