#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dragoman::plugins {

/// The description of a plugin in its file; see dragoman/plugins/note.h. The texts are untrusted: print them with
/// core::printable().
struct PluginNote {
  std::string fingerprint;
  std::string toolkit_version;
  std::string name;
  std::string licence;

  /// Returns the difference between the SDK that the plugin was built with and this program's; empty if the plugin
  /// fits.
  std::string sdk_difference() const;
};

/// Returns true if `beginning` is the start of an ELF file: a shared library, a program or an object file.
bool is_elf(std::string_view beginning) noexcept;

/// Reads the note in a plugin's file as data, without running code. Returns std::nullopt for a shared library without a
/// note. Error{kIo} if the file cannot be read. Error{kBadInput} if it is not a 64-bit little-endian ELF shared
/// library, or if the file or its note is malformed.
///
///     const std::optional<PluginNote> note = read_plugin_note("./mine.so");
///     if (note && note->sdk_difference().empty()) std::cout << core::printable(note->name);     // core/quote.h
///
/// The functions of this header are thread-safe.
std::optional<PluginNote> read_plugin_note(const std::filesystem::path& file);
/// Reads the note from bytes in memory. `name` begins every message.
std::optional<PluginNote> find_plugin_note(std::span<const std::byte> bytes, const std::string& name);

}  // namespace dragoman::plugins
