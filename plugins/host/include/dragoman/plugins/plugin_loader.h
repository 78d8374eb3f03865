#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/versioned.h>
#include <dragoman/plugins/descriptor.h>
#include <dragoman/plugins/registry.h>

namespace dragoman::plugins {

struct LoadedPlugin {
  std::string name;
  std::string licence;
  std::string toolkit_version;
  std::filesystem::path file;
};

/// Loads plugins into a registry. Loading a shared library runs its code, so nothing is loaded that was not named. A
/// library stays in the process for ever, even if it was refused. Thread-safe: plugins are loaded one after the other.
class PluginLoader {
 public:
  /// Bare names are looked up as `folder`/NAME.so; with an empty folder only files can be named. `registry` must
  /// outlive the loader.
  explicit PluginLoader(Registry& registry, std::filesystem::path folder = {});

  /// Loads a file (anything with a '/' or that ends in ".so") or, by its bare name, an installed plugin. Its note (see
  /// plugin_note.h) is read first, so that of a library that is no plugin, or one of another SDK, no code is run; the
  /// descriptor's fingerprint is compared again before any C++ interface of the plugin is used. Error{kBadInput or kIo}
  /// says what is wrong: no shared library, no note, built for another SDK (and which part differs), no query symbol,
  /// descriptor too small, a registration that threw, a name that is taken, the plugin loaded already. After an error
  /// the registry is what it was.
  const LoadedPlugin& load(const std::string& file_or_name);

  /// Calls load() unless a plugin of that bare name is loaded already: for the plugin that a model's config.json names.
  /// Threads that need the same plugin at the same time load it once. A name with a '/' is refused: a model never
  /// decides which file is run.
  const LoadedPlugin& require_plugin(const std::string& name);

  /// Whether there is a plugin of this name in the folder.
  bool is_installed(const std::string& name) const;
  const LoadedPlugin* find(std::string_view name) const;
  /// In the order in which they were loaded. The reference stays valid and does not show what is loaded later.
  const std::vector<std::shared_ptr<const LoadedPlugin>>& loaded() const noexcept { return loaded_.get(); }
  const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path installed_file(const std::string& name) const;
  /// Both with loading_ locked.
  const LoadedPlugin& load_locked(const std::string& file_or_name);
  const LoadedPlugin& load_file(const std::filesystem::path& file, const std::string& expected_name);

  Registry* registry_;
  std::filesystem::path folder_;
  std::mutex loading_;
  core::Versioned<std::vector<std::shared_ptr<const LoadedPlugin>>> loaded_;
};

/// Throws Error{kBadInput}, naming `file`, unless the descriptor is complete and its fingerprint equals the host's.
void check_descriptor(const PluginDescriptor* descriptor, const std::string& file);

}  // namespace dragoman::plugins
