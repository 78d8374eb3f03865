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

/// The description of a loaded plugin, from its descriptor.
struct LoadedPlugin {
  std::string name;
  std::string licence;
  std::string toolkit_version;
  std::filesystem::path file;
};

/// Loads plugins into a registry. Loading a shared library runs its code, so only plugins that the user names are
/// loaded. A library stays in the process until it ends, even if the plugin was rejected. Thread-safe: plugins are
/// loaded one after the other.
///
///     Host host;                                                         // host.h
///     const LoadedPlugin& plugin = host.loader().load("./mine.so");
///     std::cout << plugin.name << ' ' << plugin.licence;
class PluginLoader {
 public:
  /// Bare names are looked up as `folder`/NAME.so. With an empty folder, only files can be loaded. `registry` must
  /// outlive the loader.
  explicit PluginLoader(Registry& registry, std::filesystem::path folder = {});

  /// Loads a plugin and returns it. A name that contains '/' or ends in ".so" is a file; any other name is an installed
  /// plugin.
  ///
  /// The note of the file (see plugin_note.h) is checked first, so code of libraries that are not plugins, or were
  /// built for another SDK, is never run. The descriptor's fingerprint is compared again before any C++ interface of
  /// the plugin is used.
  ///
  /// Error{kBadInput} or Error{kIo} names the fault: not a shared library, no note, built for another SDK (and the part
  /// that differs), no query symbol, a descriptor that is too small, a registration that threw, a name that is taken,
  /// or a plugin that is already loaded. After an error the registry is unchanged.
  const LoadedPlugin& load(const std::string& file_or_name);

  /// Calls load() unless a plugin of that bare name is already loaded. For plugins that a model's config.json names.
  /// Threads that need the same plugin at the same time load it once. Rejects names with a '/', because a model must
  /// never select the file that is run.
  const LoadedPlugin& require_plugin(const std::string& name);

  /// Returns true if the folder contains a plugin of this name.
  bool is_installed(const std::string& name) const;
  /// Returns nullptr unless a plugin of this name is loaded.
  const LoadedPlugin* find(std::string_view name) const;
  /// The plugins in the order in which they were loaded. The reference stays valid and does not show plugins that are
  /// loaded later.
  const std::vector<std::shared_ptr<const LoadedPlugin>>& loaded() const noexcept { return loaded_.get(); }
  const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path installed_file(const std::string& name) const;
  /// Both functions require the lock of loading_.
  const LoadedPlugin& load_locked(const std::string& file_or_name);
  const LoadedPlugin& load_file(const std::filesystem::path& file, const std::string& expected_name);

  Registry* registry_;
  std::filesystem::path folder_;
  std::mutex loading_;
  core::Versioned<std::vector<std::shared_ptr<const LoadedPlugin>>> loaded_;
};

/// Throws Error{kBadInput}, which names `file`, unless the descriptor is complete and its fingerprint equals the
/// host's.
void check_descriptor(const PluginDescriptor* descriptor, const std::string& file);

}  // namespace dragoman::plugins
