#include "marian/npz_writer.h"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <dragoman/core/error.h>

namespace dragoman::imports {
namespace {

/// Appends little-endian numbers.
template <class... Numbers>
void append(std::string& bytes, Numbers... numbers) {
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
}

constexpr std::uint16_t kPlain = 0;
constexpr std::uint16_t kVersion = 20;
constexpr std::uint16_t kFirstOfJanuary1980 = 0x21;

std::string npy_header(std::string_view type, std::span<const std::int64_t> shape) {
  constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
  constexpr std::size_t kAlignment = 64;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t before = kMagic.size() + 2;
  header.append((kAlignment - (before + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string bytes(kMagic);
  append(bytes, static_cast<std::uint16_t>(header.size()));
  return bytes + header;
}

std::uint32_t add_to_sum(std::uint32_t sum, std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

NpzWriter::NpzWriter(const std::filesystem::path& path)
    : path_(path), file_(path, {.partial = core::PartialPolicy::kTemporary}) {}

void NpzWriter::write(std::string_view bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

/// From the flags to the lengths: the same in both headers (APPNOTE 4.3.7 and 4.3.12).
std::string NpzWriter::common_fields(const Entry& entry) {
  std::string fields;
  append(fields, kVersion, kPlain, kPlain, kPlain, kFirstOfJanuary1980, entry.sum, entry.size, entry.size,
         static_cast<std::uint16_t>(entry.name.size()), kPlain);
  return fields;
}

void NpzWriter::put(const std::string& name, std::string_view type, std::span<const std::int64_t> shape,
                    std::string_view values) {
  constexpr std::uint32_t kSignature = 0x04034B50;
  const std::string header = npy_header(type, shape);
  const std::uint64_t size = header.size() + values.size();
  core::require(written_ + size + 1024 < std::numeric_limits<std::uint32_t>::max(), core::ErrorCode::kUnsupported,
                "{}: would be more than 4 GiB, which Marian does not read", path_.string());
  const Entry& entry = entries_.emplace_back(Entry{.name = name + ".npy",
                                                   .sum = add_to_sum(add_to_sum(0, header), values),
                                                   .size = static_cast<std::uint32_t>(size),
                                                   .place = static_cast<std::uint32_t>(written_)});
  std::string local;
  append(local, kSignature);
  write(local + common_fields(entry) + entry.name);
  write(header);
  write(values);
}

void NpzWriter::add(const std::string& name, std::span<const std::int64_t> shape, std::span<const float> values) {
  put(name, "<f4", shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void NpzWriter::add_text(const std::string& name, const std::string& text) {
  const std::int64_t size = static_cast<std::int64_t>(text.size()) + 1;
  put(name, "|i1", std::span(&size, 1), {text.c_str(), text.size() + 1});
}

void NpzWriter::finish() {
  constexpr std::uint32_t kEntrySignature = 0x02014B50;
  constexpr std::uint32_t kEndSignature = 0x06054B50;
  const auto begin = static_cast<std::uint32_t>(written_);
  for (const Entry& entry : entries_) {
    std::string bytes;
    append(bytes, kEntrySignature, kVersion);
    bytes += common_fields(entry);
    append(bytes, kPlain, kPlain, kPlain, std::uint32_t{0}, entry.place);
    write(bytes + entry.name);
  }
  std::string end;
  const auto count = static_cast<std::uint16_t>(entries_.size());
  append(end, kEndSignature, kPlain, kPlain, count, count, static_cast<std::uint32_t>(written_ - begin), begin, kPlain);
  write(end);
  file_.commit();
}

}  // namespace dragoman::imports
