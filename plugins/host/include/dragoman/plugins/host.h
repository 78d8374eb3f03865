#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/plugins/plugin_loader.h>
#include <dragoman/plugins/registry.h>
#include <dragoman/runtime/runtime.h>

namespace dragoman::plugins {

/// Options of a Host.
struct HostOptions {
  /// The folder in which plugins are looked up by name. Programs normally pass installed_plugin_folder(). Empty: no
  /// folder.
  std::filesystem::path plugin_folder = {};
  /// Files or names of installed plugins that the constructor loads.
  std::vector<std::string> plugins = {};
  /// The folder where backends may cache measurements of the machine for later processes, normally a user's cache
  /// folder. Empty: no cache.
  std::filesystem::path cache_folder = {};
};

/// The objects that a process needs once to work with models: the devices, the registry with the built-in entries, and
/// the plugin loader. Neither copyable nor movable. Thread-safe: plugins may be loaded and registered while other
/// threads create and use models.
///
///     Host host({.plugin_folder = installed_plugin_folder()});
///     const tensor::Device device = host.device("auto");
///     const LoadedModel loaded = load_model("models/de-en", host, {.device = device});     // load_model.h
///
/// It must outlive the models, contexts and collectives that are created with it.
class Host {
 public:
  /// Throws like PluginLoader::load() if a plugin cannot be loaded.
  explicit Host(const HostOptions& options = {});
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Returns the device for `--device NAME`: "cpu", "cuda", "cuda:1" or "auto"; see Runtime::device(). If its backend
  /// is not registered and an installed plugin has the backend's name, loads the plugin. "auto" tries this with "cuda".
  /// Error{kInvalidArgument}, which lists the devices, for an unknown name.
  ///
  /// Configures the backend with `options` (Backend::configure()) and the host's cache folder. Missing components that
  /// limit its speed are reported to `log`.
  tensor::Device device(const std::string& name, tensor::DeviceOptions options = {}, const core::LogSink& log = {});

  /// Joins the processes of a job through Launch::transport. If the transport is not registered and an installed plugin
  /// has its name, loads the plugin. Error{kUnsupported} if MPI is needed and its plugin is not installed.
  /// Error{kInvalidArgument}, which lists the transports, for any other unknown name. Otherwise throws the errors of
  /// the transport.
  std::unique_ptr<collective::Collective> join(const collective::Launch& launch);

  /// Links this process's device to the devices of the other processes, as Launch::device_links specifies. Every
  /// process of the job must call it, for any kind of device. Returns nullptr if the devices are not linked. If links
  /// for this kind of device exist, `log` receives the reason. Error{kUnsupported} if links were required and cannot be
  /// created.
  std::unique_ptr<collective::DeviceLinks> link(const collective::Launch& launch, collective::Collective& ranks,
                                                tensor::Device device, const core::LogSink& log = {},
                                                const std::stop_token& stop = {}) const;

  /// Opens a model folder, or a model that a registered importer recognises with its default options; see
  /// formats::open_model(). While a returned object is in use, the same path returns the same object. So a caller that
  /// keeps it while reading the defaults, counting parameters and loading opens the files once. Error{kInterrupted}
  /// after a stop request (core::StopScope).
  std::shared_ptr<formats::OpenedModel> open_model(const std::filesystem::path& path) const;

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
  std::mutex configuring_;
  mutable std::mutex opening_;
  mutable std::condition_variable no_longer_opening_;
  mutable std::set<std::filesystem::path> being_opened_;
  mutable std::map<std::filesystem::path, std::weak_ptr<formats::OpenedModel>> opened_;
};

/// Returns the default host, for programs that create none. The first call creates it. It finds installed plugins by
/// name (installed_plugin_folder()), has no cache folder, and lives as long as the process. Thread-safe.
Host& default_host();

/// The advice for a user who requests an NVIDIA GPU without the plugin for it.
inline constexpr std::string_view kHowToGetCuda =
    "this installation has no plugin 'cuda'; build Dragoman where nvcc is (CUDA 12 or later), and install it anew";

/// The advice for a user who starts several processes without the plugin for MPI.
inline constexpr std::string_view kHowToGetMpi =
    "this installation has no plugin 'mpi'; build Dragoman where the headers of an MPI are (Debian: libopenmpi-dev), "
    "and install it anew";

/// Returns the folder `dragoman/plugins` next to the shared library that contains this function;
/// <prefix>/lib/dragoman/plugins in an installation. Empty if the system cannot locate the library.
std::filesystem::path installed_plugin_folder();

}  // namespace dragoman::plugins
