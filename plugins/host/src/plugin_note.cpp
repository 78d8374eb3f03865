#include "dragoman/plugins/plugin_note.h"

#include "fingerprint_difference.h"

#include <cstring>

#include <elf.h>

#include <dragoman/core/error.h>
#include <dragoman/formats/mapped_file.h>
#include <dragoman/plugins/fingerprint.h>
#include <dragoman/plugins/note.h>

namespace dragoman::plugins {
namespace {

using core::ErrorCode;
/// A limit, because segments may overlap: a file of a megabyte could otherwise contain billions of notes.
constexpr int kMaxNotes = 1000;
constexpr std::size_t kLongestDescription = std::size_t{1} << 16;

using Bytes = std::span<const std::byte>;

/// Returns a part of the file, which must be within the file.
Bytes part_of(Bytes bytes, std::uint64_t offset, std::uint64_t size, const std::string& name) {
  core::require(offset <= bytes.size() && size <= bytes.size() - offset, ErrorCode::kBadInput,
                "{}: byte {}: the ELF file has {} bytes, but its headers speak of {} here; it is truncated or damaged",
                name, offset, bytes.size(), size);
  return bytes.subspan(offset, size);
}

template <class Struct>
Struct read_at(Bytes bytes, std::uint64_t offset, const std::string& name) {
  Struct value;
  std::memcpy(&value, part_of(bytes, offset, sizeof value, name).data(), sizeof value);
  return value;
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Elf64_Ehdr read_header(Bytes bytes, const std::string& name) {
  core::require(is_elf(text_of(bytes)), ErrorCode::kBadInput,
                "{}: cannot be loaded as a shared library: it is no ELF file", name);
  const auto header = read_at<Elf64_Ehdr>(bytes, 0, name);
  core::require(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB, ErrorCode::kBadInput,
                "{}: is an ELF file for another kind of machine: not 64-bit little-endian", name);
  core::require(header.e_type == ET_DYN, ErrorCode::kBadInput, "{}: is an ELF file, but no shared library", name);
  core::require(header.e_phnum == 0 || header.e_phentsize == sizeof(Elf64_Phdr), ErrorCode::kBadInput,
                "{}: its ELF program headers have {} bytes each instead of {}; the file is damaged", name,
                header.e_phentsize, sizeof(Elf64_Phdr));
  return header;
}

/// Parses the NUL-terminated texts of a description.
PluginNote parse_description(std::string_view description, const std::string& name) {
  PluginNote note;
  for (std::string* text : {&note.fingerprint, &note.toolkit_version, &note.name, &note.licence}) {
    const std::size_t end = description.find('\0');
    core::require(end != description.npos, ErrorCode::kBadInput,
                  "{}: its Dragoman note ends within a text; rebuild the plugin", name);
    *text = description.substr(0, end);
    description.remove_prefix(end + 1);
  }
  return note;
}

/// Searches notes for Dragoman's note.
class NoteSearch {
 public:
  NoteSearch(Bytes bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::optional<PluginNote> search(const Elf64_Phdr& segment) {
    // If the segment has this alignment, the parts of its notes have it, too (as in .note.gnu.property).
    const std::uint64_t alignment = segment.p_align == 8 ? 8 : 4;
    const std::uint64_t begin = segment.p_offset;
    const std::uint64_t size = part_of(bytes_, begin, segment.p_filesz, name_).size();
    const auto aligned = [&](std::uint64_t at) { return begin + (at - begin + alignment - 1) / alignment * alignment; };
    for (std::uint64_t at = begin; at + sizeof(Elf64_Nhdr) <= begin + size;) {
      core::require(++seen_ <= kMaxNotes, ErrorCode::kBadInput, "{}: holds more than {} ELF notes; the file is damaged",
                    name_, kMaxNotes);
      const auto header = read_at<Elf64_Nhdr>(bytes_, at, name_);
      const std::uint64_t owner = at + sizeof header;
      const std::uint64_t description = aligned(owner + header.n_namesz);
      if (is_ours(header, part_of(bytes_, owner, header.n_namesz, name_)))
        return parse_description(text_of(part_of(bytes_, description, header.n_descsz, name_)), name_);
      at = aligned(description + header.n_descsz);
    }
    return std::nullopt;
  }

 private:
  bool is_ours(const Elf64_Nhdr& header, Bytes owner) const {
    if (header.n_type != kNoteType || text_of(owner) != std::string_view(kNoteOwner.data(), kNoteOwner.size() + 1))
      return false;
    core::require(header.n_descsz <= kLongestDescription, ErrorCode::kBadInput,
                  "{}: its Dragoman note has {} bytes; {} are the most", name_, header.n_descsz, kLongestDescription);
    return true;
  }

  Bytes bytes_;
  const std::string& name_;
  int seen_ = 0;
};

template <class Visit>
void for_each_segment(Bytes bytes, const std::string& name, Visit&& visit) {
  const Elf64_Ehdr header = read_header(bytes, name);
  const Bytes segments = part_of(bytes, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), name);
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) visit(read_at<Elf64_Phdr>(segments, i * sizeof(Elf64_Phdr), name));
}

}  // namespace

bool is_elf(std::string_view beginning) noexcept {
  return beginning.starts_with(ELFMAG);
}

std::string PluginNote::sdk_difference() const {
  return fingerprint_difference(fingerprint, kFingerprint);
}

std::optional<PluginNote> find_plugin_note(Bytes bytes, const std::string& name) {
  NoteSearch search(bytes, name);
  std::optional<PluginNote> found;
  for_each_segment(bytes, name, [&](const Elf64_Phdr& segment) {
    if (segment.p_type == PT_NOTE && !found) found = search.search(segment);
  });
  return found;
}

std::optional<PluginNote> read_plugin_note(const std::filesystem::path& file) {
  const formats::MappedFile mapped(file);
  const std::string name = file.string();
  // The loader maps these segments. If the file ended before them, the process would be killed.
  for_each_segment(mapped.bytes(), name, [&](const Elf64_Phdr& segment) {
    if (segment.p_type == PT_LOAD) part_of(mapped.bytes(), segment.p_offset, segment.p_filesz, name);
  });
  return find_plugin_note(mapped.bytes(), name);
}

}  // namespace dragoman::plugins
