#pragma once

#include <cstdint>

namespace dragoman::plugins {

class Registrar;

/// "DRGM": tells a plugin of ours from a library that happens to export the same symbol.
inline constexpr std::uint32_t kPluginMagic = 0x4452474D;

/// What a plugin's query returns: the only part of the interface that is frozen for ever. Fields are only ever added at
/// the end, and a reader looks at `struct_size` before it looks at any of them. The strings are NUL-terminated and live
/// as long as the library.
struct PluginDescriptor {
  std::uint32_t struct_size;
  std::uint32_t magic;
  const char*
      fingerprint;  ///< fingerprint.h; all that follows is C++ and means something only if this one equals the host's
  const char* toolkit_version;  ///< of the headers that the plugin was built with
  const char* name;             ///< letters, digits, '-' and '_'
  const char* licence;          ///< an SPDX identifier
  void (*register_plugin)(Registrar&);
};

/// The type and the name of the function that every plugin exports.
using PluginQuery = const PluginDescriptor* (*)();
inline constexpr const char* kPluginQueryName = "dragoman_plugin_query";

}  // namespace dragoman::plugins
