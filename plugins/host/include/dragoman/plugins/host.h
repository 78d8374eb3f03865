#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/plugins/plugin_loader.h>
#include <dragoman/plugins/registry.h>
#include <dragoman/runtime/runtime.h>

namespace dragoman::plugins {

struct HostOptions {
  /// Where plugins are looked up by name; installed_plugin_folder() is the usual answer. Empty: nowhere.
  std::filesystem::path plugin_folder = {};
  /// Files, or names of installed plugins, to load at once.
  std::vector<std::string> plugins = {};
  /// Where backends may keep what they find out about the machine, for later processes: a user's cache folder. Empty:
  /// nowhere.
  std::filesystem::path cache_folder = {};
};

/// What a process that works with models makes once at its start: the devices, the registry with the built-ins, and the
/// loader. Neither copied nor moved. Loading plugins must not overlap with anything else; afterwards everything may be
/// read from any thread.
class Host {
 public:
  /// Throws as PluginLoader::load for a plugin that cannot be loaded.
  explicit Host(const HostOptions& options = {});
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// The device that `--device NAME` means: "cpu", "cuda", "cuda:1", or "auto", as Runtime::device() has them. If its
  /// backend is not here, but an installed plugin has its name, that is loaded; for "auto" this is tried with "cuda".
  /// Error{kInvalidArgument} that lists what is here. The backend is configured, see Backend::configure() (the cache
  /// is the host's); what is missing for its speed is told to `log`.
  tensor::Device device(const std::string& name, tensor::DeviceOptions options = {}, const core::LogSink& log = {});

  /// Joins the job that `launch` tells of. If nobody has registered its transport, but an installed plugin has that
  /// name, that is loaded. Error{kInvalidArgument} that lists what is here; else what the transport throws.
  std::unique_ptr<collective::Collective> join(const collective::Launch& launch, const core::LogSink& log = {},
                                               const std::stop_token& stop = {});

  /// Links this process's device to those of the others, as Launch::device_links asks; what that is all have to call,
  /// whatever device they have and were asked for. nullptr: they are not linked, which `log` is told with the reason
  /// where devices of this kind could be. Error{kUnsupported} if they were to be by all means, and cannot.
  std::unique_ptr<collective::DeviceLinks> link(const collective::Launch& launch, collective::Collective& ranks,
                                                tensor::Device device, const core::LogSink& log = {},
                                                const std::stop_token& stop = {}) const;

  runtime::Runtime& runtime() noexcept { return runtime_; }
  const runtime::Runtime& runtime() const noexcept { return runtime_; }
  Registry& registry() noexcept { return registry_; }
  const Registry& registry() const noexcept { return registry_; }
  PluginLoader& loader() noexcept { return loader_; }
  const PluginLoader& loader() const noexcept { return loader_; }

 private:
  runtime::Runtime runtime_;
  Registry registry_;
  PluginLoader loader_;
  std::filesystem::path cache_folder_;
};

/// What to say where NVIDIA's GPUs are asked for and the plugin for them is not installed.
inline constexpr std::string_view kHowToGetCuda =
    "this installation has no plugin 'cuda'; build Dragoman where nvcc is (CUDA 12 or later), and install it anew";

/// `dragoman/plugins` beside the shared library that this function is in: <prefix>/lib/dragoman/plugins once installed.
/// Empty if the system does not say where that is.
std::filesystem::path installed_plugin_folder();

}  // namespace dragoman::plugins
