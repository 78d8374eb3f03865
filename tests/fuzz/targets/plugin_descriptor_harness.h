#pragma once

#include "target.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <dragoman/plugins/fingerprint.h>
#include <dragoman/plugins/plugin_loader.h>

namespace dragoman::fuzz {

inline void register_nothing(plugins::Registrar& /*registrar*/) {}

/// Checks a descriptor. The first byte has a bit for each of its fields that is made wrong, the lowest for a
/// fingerprint that is taken from the input; then come fingerprint, version, name and licence with NULs between them.
/// True if the descriptor was accepted.
inline bool exercise_plugin_descriptor(std::string_view bytes) {
  if (bytes.empty()) return false;
  const auto faults = static_cast<std::uint8_t>(bytes[0]);
  const auto is_wrong = [&](int field) { return (faults >> field & 1) != 0; };
  std::array<std::string, 4> texts;
  bytes.remove_prefix(1);
  for (std::string& text : texts) {
    text = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(text.size() + 1, bytes.size()));
  }
  if (!is_wrong(0)) texts[0] = plugins::kFingerprint;
  const plugins::PluginDescriptor descriptor{
      .struct_size = is_wrong(1) ? faults : static_cast<std::uint32_t>(sizeof(plugins::PluginDescriptor)),
      .magic = is_wrong(2) ? faults : plugins::kPluginMagic,
      .fingerprint = is_wrong(3) ? nullptr : texts[0].c_str(),
      .toolkit_version = is_wrong(4) ? nullptr : texts[1].c_str(),
      .name = is_wrong(5) ? nullptr : texts[2].c_str(),
      .licence = is_wrong(6) ? nullptr : texts[3].c_str(),
      .register_plugin = is_wrong(7) ? nullptr : &register_nothing};
  return accepts([&] {
    plugins::check_descriptor(&descriptor, "fuzz");
    promise(faults <= 1 && !texts[2].empty() && texts[2].find('/') == std::string::npos,
            "a descriptor that is accepted is whole, and its name is no path");
  });
}

inline Target plugin_descriptor_target() {
  return {.name = "plugin_descriptor", .exercise = exercise_plugin_descriptor};
}

}  // namespace dragoman::fuzz
