#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace dragoman::plugins {

/// An ELF note (System V ABI, "Note Section") that describes a plugin without loading it, because loading would run its
/// code. The note has this owner and type. Its description consists of four texts of the descriptor, each with its NUL:
/// fingerprint, toolkit version, name, licence. The format is frozen like the descriptor: texts are only ever added at
/// the end.
inline constexpr std::string_view kNoteOwner = "Dragoman";
inline constexpr std::uint32_t kNoteType = 1;

/// A note in its layout in the file, for a description of kDescriptionBytes bytes.
template <std::size_t kDescriptionBytes>
struct Note {
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

  std::uint32_t owner_bytes = kNoteOwner.size() + 1;
  std::uint32_t description_bytes = kDescriptionBytes;
  std::uint32_t type = kNoteType;
  char owner[padded(kNoteOwner.size() + 1)] = {};
  char description[padded(kDescriptionBytes)] = {};
};

consteval std::size_t description_bytes(std::initializer_list<std::string_view> texts) {
  std::size_t bytes = 0;
  for (const std::string_view text : texts) bytes += text.size() + 1;
  return bytes;
}

/// `kDescriptionBytes` must be description_bytes() of the same texts.
template <std::size_t kDescriptionBytes>
consteval Note<kDescriptionBytes> make_note(std::initializer_list<std::string_view> texts) {
  if (description_bytes(texts) != kDescriptionBytes) throw std::logic_error("a note of other texts");
  Note<kDescriptionBytes> note;
  kNoteOwner.copy(note.owner, kNoteOwner.size());
  char* end = note.description;
  for (const std::string_view text : texts) end += text.copy(end, text.size()) + 1;
  return note;
}

}  // namespace dragoman::plugins
