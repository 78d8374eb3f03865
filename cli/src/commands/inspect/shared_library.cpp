#include "inspector.h"

#include <dragoman/plugins/plugin_note.h>

namespace dragoman::cli {

namespace fs = std::filesystem;

/// A file with the extension of weights must be rejected as weights.
bool is_shared_library(const fs::path& path) {
  return path.extension() != ".safetensors" && plugins::is_elf(first_bytes(path, 4));
}

bool is_plugin(const fs::path& path) {
  return is_shared_library(path) && plugins::read_plugin_note(path).has_value();
}

/// Reads the note in the file: loading the plugin would run its code.
Report describe_plugin(const fs::path& path, const InspectOptions&) {
  const plugins::PluginNote note = plugins::read_plugin_note(path).value();
  const std::string difference = note.sdk_difference();
  Report report;
  report.add("name", note.name);
  report.add("licence", note.licence);
  report.add("built_for", note.toolkit_version, "dragoman " + note.toolkit_version);
  report.add("fits_this_program", difference.empty(), difference.empty() ? "yes" : "no: " + difference);
  report.add_row("what it registers", "is shown by `dragoman plugins check`, which runs its code");
  return report;
}

Report describe_shared_library(const fs::path&, const InspectOptions&) {
  Report report;
  report.add("plugin", nullptr, "none of Dragoman's, or one of an older SDK");
  return report;
}

}  // namespace dragoman::cli
