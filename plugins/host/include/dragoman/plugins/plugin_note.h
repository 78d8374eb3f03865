#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dragoman::plugins {

/// What a plugin's file says of the plugin; see dragoman/plugins/note.h. Texts of a stranger: show them with
/// core::printable().
struct PluginNote {
  std::string fingerprint;
  std::string toolkit_version;
  std::string name;
  std::string licence;

  /// In what the SDK that the plugin was built with differs from this program's; empty if the plugin fits.
  std::string sdk_difference() const;
};

/// Whether a file that begins so is an ELF file: a shared library, a program or an object file.
bool is_elf(std::string_view beginning) noexcept;

/// The note in a plugin's file, which is read as data: nothing in it is run. Empty for a shared library that has none.
/// Throws Error{kIo} if the file cannot be read, Error{kBadInput} if it is no 64-bit little-endian ELF shared library,
/// or if it or its note is malformed.
std::optional<PluginNote> read_plugin_note(const std::filesystem::path& file);
/// The same for bytes in memory; `name` begins every message.
std::optional<PluginNote> find_plugin_note(std::span<const std::byte> bytes, const std::string& name);

}  // namespace dragoman::plugins
