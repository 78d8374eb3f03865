#include "stored_zip.h"

#include <zlib.h>

namespace dragoman::fuzz {
namespace {

constexpr std::string_view kEntry("PK\x01\x02", 4);
constexpr std::string_view kLocal("PK\x03\x04", 4);
constexpr std::string_view kEnd("PK\x05\x06", 4);

/// The CRC-32 of the content, and its size, packed and unpacked.
std::string sum_and_sizes(std::string_view content) {
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  return little_endian(sum, 4) + little_endian(content.size(), 4) + little_endian(content.size(), 4);
}

std::string local_file(std::string_view name, std::string_view content, const std::string& sizes) {
  return std::string(kLocal) + std::string(10, '\0') + sizes + little_endian(name.size(), 2) + little_endian(0, 2) +
         std::string(name) + std::string(content);
}

std::string entry(std::string_view name, const std::string& sizes, std::size_t place) {
  return std::string(kEntry) + std::string(12, '\0') + sizes + little_endian(name.size(), 2) + std::string(12, '\0') +
         little_endian(place, 4) + std::string(name);
}

/// More than 65,535 entries would need the records of zip64.
std::string end_of(std::size_t entries, std::size_t directory_bytes, std::size_t place) {
  return std::string(kEnd) + std::string(4, '\0') + little_endian(entries, 2) + little_endian(entries, 2) +
         little_endian(directory_bytes, 4) + little_endian(place, 4) + little_endian(0, 2);
}

}  // namespace

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

std::size_t number_at(std::string_view bytes, std::size_t place, int size) {
  std::size_t value = 0;
  for (int i = size - 1; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[place + static_cast<std::size_t>(i)]);
  return value;
}

std::string zip_of(const std::vector<ZipFile>& files) {
  std::string archive;
  std::string directory;
  for (const auto& [name, content] : files) {
    const std::string sizes = sum_and_sizes(content);
    directory += entry(name, sizes, archive.size());
    archive += local_file(name, content, sizes);
  }
  return archive + directory + end_of(files.size(), directory.size(), archive.size());
}

std::string zip_of_shared_bytes(std::string_view content, std::size_t entries) {
  const std::string sizes = sum_and_sizes(content);
  const std::string archive = local_file("0", content, sizes);
  std::string directory;
  for (std::size_t i = 0; i < entries; ++i) directory += entry(std::to_string(i), sizes, 0);
  return archive + directory + end_of(entries, directory.size(), archive.size());
}

std::vector<ZipFile> files_of_zip(std::string_view archive) {
  std::vector<ZipFile> files;
  const std::size_t end = archive.rfind(kEnd);
  std::size_t at = number_at(archive, end + 16, 4);
  for (std::size_t left = number_at(archive, end + 10, 2); left > 0; --left) {
    const std::size_t size = number_at(archive, at + 24, 4);
    const std::size_t name = number_at(archive, at + 28, 2);
    const std::size_t local = number_at(archive, at + 42, 4);
    const std::size_t content = local + 30 + number_at(archive, local + 26, 2) + number_at(archive, local + 28, 2);
    files.push_back({std::string(archive.substr(at + 46, name)), std::string(archive.substr(content, size))});
    at += 46 + name + number_at(archive, at + 30, 2) + number_at(archive, at + 32, 2);
  }
  return files;
}

std::string files_of_shared_bytes(std::string_view /*seed*/, std::size_t size) {
  return zip_of_shared_bytes(std::string(size / 2, 'x'), std::min<std::size_t>(size / 100, 60000));
}

}  // namespace dragoman::fuzz
