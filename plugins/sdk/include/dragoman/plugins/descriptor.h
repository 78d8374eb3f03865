#pragma once

#include <cstdint>

namespace dragoman::plugins {

class Registrar;

/// "DRGM": distinguishes a Dragoman plugin from a library that happens to export the same symbol.
inline constexpr std::uint32_t kPluginMagic = 0x4452474D;

/// The return value of a plugin's query function: the only part of the interface that is frozen. Fields are only ever
/// added at the end, and a reader checks `struct_size` before it reads any field. The strings are NUL-terminated and
/// live as long as the library.
struct PluginDescriptor {
  std::uint32_t struct_size;
  std::uint32_t magic;
  /// See fingerprint.h. The following fields are C++ and must not be used unless this equals the host's fingerprint.
  const char* fingerprint;
  const char* toolkit_version;  ///< version of the headers that the plugin was built with
  const char* name;             ///< letters, digits, '-' and '_'
  const char* licence;          ///< an SPDX identifier
  void (*register_plugin)(Registrar&);
};

/// The type and the name of the function that every plugin exports.
using PluginQuery = const PluginDescriptor* (*)();
inline constexpr const char* kPluginQueryName = "dragoman_plugin_query";

}  // namespace dragoman::plugins
