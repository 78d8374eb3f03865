#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::fuzz {

struct ZipFile {
  std::string name;
  std::string content;
};

/// The bytes of a number, the least first.
std::string little_endian(std::uint64_t value, int bytes);
std::size_t number_at(std::string_view bytes, std::size_t place, int size);

/// A zip archive of these files, stored uncompressed, as torch and numpy write them.
std::string zip_of(const std::vector<ZipFile>& files);

/// A zip archive whose directory has the number of entries, all of which are the same bytes under other names.
std::string zip_of_shared_bytes(std::string_view content, std::size_t entries);

/// Such an archive of about `size` bytes, as a FormatGrowth.
std::string files_of_shared_bytes(std::string_view seed, std::size_t size);

/// The stored files of an archive of less than 4 GiB that begins at the first byte and is undamaged.
std::vector<ZipFile> files_of_zip(std::string_view archive);

}  // namespace dragoman::fuzz
