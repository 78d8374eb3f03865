#include "archive/zip_archive.h"

#include "archive/zip_format.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include <zlib.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kLocalHeaderSize = 30;
constexpr std::size_t kDirectoryEntrySize = 46;
constexpr std::size_t kDirectoryEnd64Size = 56;
constexpr std::size_t kDirectoryLocatorSize = 20;
constexpr std::size_t kDirectoryEndSize = 22;
constexpr std::size_t kLongestComment = 0xFFFF;
constexpr std::uint16_t kEncrypted = 1;
constexpr std::uint16_t kDeflated = 8;    // 4.4.5
constexpr std::uint16_t kZip64Extra = 1;  // 4.5.3
constexpr std::uint32_t kIn64Bits = 0xFFFFFFFF;

/// Little-endian numbers at checked offsets.
class Fields {
 public:
  Fields(Bytes bytes, const std::string& name) : bytes_(bytes), name_(&name) {}

  [[noreturn]] void refuse(std::uint64_t place, std::string_view complaint) const {
    core::fail(ErrorCode::kBadInput, "{}: byte {}: {}; the archive is cut or damaged, get it again", *name_, place,
               complaint);
  }
  void check_room(std::uint64_t place, std::uint64_t size) const {
    if (place > bytes_.size() || size > bytes_.size() - place) refuse(place, "the archive ends too early");
  }
  template <class Number>
  Number number(std::uint64_t place) const {
    check_room(place, sizeof(Number));
    Number value{};
    std::memcpy(&value, bytes_.data() + place, sizeof value);
    return value;
  }
  std::uint16_t u16(std::uint64_t place) const { return number<std::uint16_t>(place); }
  std::uint32_t u32(std::uint64_t place) const { return number<std::uint32_t>(place); }
  std::uint64_t u64(std::uint64_t place) const { return number<std::uint64_t>(place); }
  std::uint64_t size() const noexcept { return bytes_.size(); }
  std::string text(std::uint64_t place, std::size_t size) const {
    check_room(place, size);
    return {reinterpret_cast<const char*>(bytes_.data() + place), size};
  }
  Bytes range(std::uint64_t place, std::uint64_t size) const {
    check_room(place, size);
    return bytes_.subspan(place, size);
  }

 private:
  Bytes bytes_;
  const std::string* name_;
};

/// The location of an archive's directory.
struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;
};

std::optional<std::uint64_t> find_directory_end(const Fields& fields) {
  if (fields.size() < kDirectoryEndSize) return std::nullopt;
  const std::uint64_t last = fields.size() - kDirectoryEndSize;
  const std::uint64_t first = last - std::min<std::uint64_t>(last, kLongestComment);
  for (std::uint64_t place = last + 1; place-- > first;)
    if (fields.u32(place) == kZipDirectoryEnd && fields.u16(place + 20) == last - place) return place;
  return std::nullopt;
}

Directory read_directory(const Fields& fields) {
  const auto end = find_directory_end(fields);
  if (!end) fields.refuse(fields.size(), "there is no directory of a zip archive");
  const bool has_locator =
      *end >= kDirectoryLocatorSize && fields.u32(*end - kDirectoryLocatorSize) == kZipDirectoryLocator;
  if (!has_locator) return {fields.u16(*end + 10), fields.u32(*end + 12), fields.u32(*end + 16)};
  const std::uint64_t end64 = fields.u64(*end - kDirectoryLocatorSize + 8);
  fields.check_room(end64, kDirectoryEnd64Size);
  if (fields.u32(end64) != kZipDirectoryEnd64) fields.refuse(end64, "there should be the end of a zip64 directory");
  return {fields.u64(end64 + 32), fields.u64(end64 + 40), fields.u64(end64 + 48)};
}

/// The directory's entry for a file.
struct Entry {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint64_t stored = 0;
  std::uint64_t size = 0;
  std::uint64_t local = 0;
  std::uint32_t sum = 0;
  std::uint64_t next = 0;  ///< the offset of the next entry
};

/// Reads the numbers that need 64 bits from the extra field, in the order of section 4.5.3.
void read_zip64(const Fields& fields, std::uint64_t extra, std::uint64_t end, Entry& entry) {
  while (end - extra >= 4) {
    const std::uint16_t kind = fields.u16(extra);
    const std::uint64_t size = fields.u16(extra + 2);
    if (size > end - extra - 4) fields.refuse(extra, "an extra field is longer than its room");
    if (kind == kZip64Extra) {
      std::uint64_t place = extra + 4;
      for (std::uint64_t* number : {&entry.size, &entry.stored, &entry.local}) {
        if (*number != kIn64Bits) continue;
        if (place + 8 > extra + 4 + size) fields.refuse(extra, "a zip64 field lacks a number");
        *number = fields.u64(place);
        place += 8;
      }
    }
    extra += 4 + size;
  }
}

Entry read_entry(const Fields& fields, std::uint64_t place) {
  fields.check_room(place, kDirectoryEntrySize);
  if (fields.u32(place) != kZipDirectoryEntry) fields.refuse(place, "there should be an entry of the directory");
  const std::size_t name_size = fields.u16(place + 28);
  const std::size_t extra_size = fields.u16(place + 30);
  const std::size_t comment_size = fields.u16(place + 32);
  const std::uint64_t extra = place + kDirectoryEntrySize + name_size;
  fields.check_room(extra, extra_size + comment_size);
  Entry entry{.name = fields.text(place + kDirectoryEntrySize, name_size),
              .flags = fields.u16(place + 8),
              .method = fields.u16(place + 10),
              .stored = fields.u32(place + 20),
              .size = fields.u32(place + 24),
              .local = fields.u32(place + 42),
              .sum = fields.u32(place + 16),
              .next = extra + extra_size + comment_size};
  read_zip64(fields, extra, extra + extra_size, entry);
  return entry;
}

/// Returns the bytes of a file as they are in the archive.
Bytes stored_bytes(const Fields& fields, const Entry& entry) {
  fields.check_room(entry.local, kLocalHeaderSize);
  if (fields.u32(entry.local) != kZipLocalHeader) fields.refuse(entry.local, "there should be a file of the archive");
  return fields.range(entry.local + kLocalHeaderSize + fields.u16(entry.local + 26) + fields.u16(entry.local + 28),
                      entry.stored);
}

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_deflated(const Entry& entry) {
  return entry.method == kDeflated && (entry.flags & kEncrypted) == 0;
}

ZipArchive::PackedFile packed_file(const Fields& fields, const Entry& entry) {
  // A run of 258 bytes takes at least two bits.
  constexpr std::uint64_t kMaxFromByte = 1032;
  if (entry.size / kMaxFromByte > entry.stored) fields.refuse(entry.local, "a deflated file cannot become so long");
  return {.bytes = stored_bytes(fields, entry), .size = entry.size, .sum = entry.sum};
}

Bytes content_of(const Fields& fields, const Entry& entry, const std::string& archive) {
  if (entry.method != 0 || (entry.flags & kEncrypted) != 0)
    core::fail(ErrorCode::kUnsupported,
               "{}: {} is compressed or encrypted, and only archives that store files as they are can be read; unpack "
               "it and pack it again without compression (zip -0)",
               archive, core::quote(entry.name));
  if (entry.size != entry.stored) fields.refuse(entry.local, "a stored file has two sizes");
  return stored_bytes(fields, entry);
}

}  // namespace

ZipArchive::ZipArchive(Bytes bytes, std::string name, Packed packed) : name_(std::move(name)) {
  const Fields fields(bytes, name_);
  const Directory directory = read_directory(fields);
  fields.check_room(directory.begin, directory.size);
  if (directory.entries > directory.size / kDirectoryEntrySize)
    fields.refuse(directory.begin, "the directory has less room than entries");
  std::uint64_t place = directory.begin;
  std::uint64_t stored = 0;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    Entry entry = read_entry(fields, place);
    if (entry.next > directory.begin + directory.size) fields.refuse(place, "an entry leaves the directory");
    const bool is_new =
        packed == Packed::kTaken && is_deflated(entry)
            ? !files_.contains(entry.name) && packed_.emplace(entry.name, packed_file(fields, entry)).second
            : !packed_.contains(entry.name) && files_.emplace(entry.name, content_of(fields, entry, name_)).second;
    // The size of each entry was checked, so this cannot overflow. Entries that share bytes would defeat limits that
    // are proportional to the file size.
    stored += entry.stored;
    if (stored > bytes.size()) fields.refuse(place, "the files of the archive share bytes");
    if (!is_new) fields.refuse(place, "two files have the name " + core::quote(entry.name));
    sums_.emplace(entry.name, entry.sum);
    place = entry.next;
  }
}

const Bytes* ZipArchive::find(std::string_view file) const {
  const auto found = files_.find(file);
  return found == files_.end() ? nullptr : &found->second;
}

void ZipArchive::unpack(const PackedFile& file, std::span<std::byte> out) const {
  const std::span<const std::byte> whole = out;
  z_stream stream{};
  core::require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, ErrorCode::kInternal, "zlib does not start");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> closing(&stream, inflateEnd);
  constexpr std::size_t kMax = std::size_t{1} << 22;  // zlib counts in 32 bits, and a stop must not wait long
  Bytes in = file.bytes;
  int state = Z_OK;
  while (!out.empty() && state == Z_OK) {
    core::check_stop("unpacking weights");
    stream.next_in =
        const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));  // NOLINT: zlib does not write there
    stream.avail_in = static_cast<uInt>(std::min(in.size(), kMax));
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(std::min(out.size(), kMax));
    const uInt had_in = stream.avail_in;
    const uInt had_out = stream.avail_out;
    state = inflate(&stream, Z_NO_FLUSH);
    in = in.subspan(had_in - stream.avail_in);
    out = out.subspan(had_out - stream.avail_out);
  }
  core::require(out.empty(), ErrorCode::kBadInput, "{}: a deflated file is cut or damaged; get the archive again",
                name_);
  const auto unpacked = whole.size() == file.size ? add_to_zip_sum(0, as_text(whole)) : file.sum;
  core::require(unpacked == file.sum, ErrorCode::kBadInput,
                "{}: a deflated file has the CRC-32 {:08x}, and its directory says {:08x}: it is damaged; get the "
                "archive again",
                name_, unpacked, file.sum);
}

void ZipArchive::check_sum(std::string_view file) const {
  const Bytes* bytes = find(file);
  core::require(bytes != nullptr, ErrorCode::kInternal, "{}: there is no file {}", name_, file);
  const std::uint32_t sum = add_to_zip_sum(0, as_text(*bytes));
  const std::uint32_t wanted = sums_.find(file)->second;
  if (sum != wanted)
    core::fail(ErrorCode::kBadInput,
               "{}: {} has the CRC-32 {:08x}, and the archive's directory says {:08x}: it is damaged; get it again",
               name_, core::quote(file), sum, wanted);
}

bool ZipArchive::is_archive(Bytes beginning) noexcept {
  constexpr std::uint32_t kSignature = kZipLocalHeader;
  return beginning.size() >= sizeof kSignature && std::memcmp(beginning.data(), &kSignature, sizeof kSignature) == 0;
}

}  // namespace dragoman::imports
