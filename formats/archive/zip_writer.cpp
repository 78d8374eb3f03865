#include "archive/zip_writer.h"

#include "archive/zip_format.h"

#include <limits>

#include <dragoman/core/error.h>

namespace dragoman::imports {
namespace {

/// Appends little-endian numbers.
template <class... Numbers>
void append_numbers(std::string& bytes, Numbers... numbers) {
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
}

constexpr std::uint16_t kZipPlain = 0;
constexpr std::uint16_t kZipVersion = 20;
constexpr std::uint16_t kFirstOfJanuary1980 = 0x21;

}  // namespace

ZipWriter::ZipWriter(const std::filesystem::path& path)
    : path_(path), file_(path, {.partial = core::PartialPolicy::kTemporary}) {}

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

/// Returns the fields from the flags to the lengths, which are the same in both headers (APPNOTE 4.3.7 and 4.3.12).
std::string ZipWriter::common_fields(const Entry& entry) {
  std::string fields;
  append_numbers(fields, kZipVersion, kZipPlain, kZipPlain, kZipPlain, kFirstOfJanuary1980, entry.sum, entry.size,
                 entry.size, static_cast<std::uint16_t>(entry.name.size()), kZipPlain);
  return fields;
}

void ZipWriter::add(std::string name, std::initializer_list<std::string_view> parts) {
  std::uint64_t size = 0;
  std::uint32_t sum = 0;
  for (const std::string_view part : parts) {
    size += part.size();
    sum = add_to_zip_sum(sum, part);
  }
  core::require(written_ + size + 1024 < std::numeric_limits<std::uint32_t>::max(), core::ErrorCode::kUnsupported,
                "{}: would be more than 4 GiB, which readers of plain archives do not read", path_.string());
  const Entry& entry = entries_.emplace_back(Entry{.name = std::move(name),
                                                   .sum = sum,
                                                   .size = static_cast<std::uint32_t>(size),
                                                   .place = static_cast<std::uint32_t>(written_)});
  std::string local;
  append_numbers(local, kZipLocalHeader);
  write(local + common_fields(entry) + entry.name);
  for (const std::string_view part : parts) write(part);
}

void ZipWriter::finish() {
  const auto begin = static_cast<std::uint32_t>(written_);
  for (const Entry& entry : entries_) {
    std::string bytes;
    append_numbers(bytes, kZipDirectoryEntry, kZipVersion);
    bytes += common_fields(entry);
    append_numbers(bytes, kZipPlain, kZipPlain, kZipPlain, std::uint32_t{0}, entry.place);
    write(bytes + entry.name);
  }
  std::string end;
  const auto count = static_cast<std::uint16_t>(entries_.size());
  append_numbers(end, kZipDirectoryEnd, kZipPlain, kZipPlain, count, count,
                 static_cast<std::uint32_t>(written_ - begin), begin, kZipPlain);
  write(end);
  file_.commit();
}

}  // namespace dragoman::imports
