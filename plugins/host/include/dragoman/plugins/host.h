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

struct HostOptions {
  /// The folder in which plugins are looked up by name; by default a program passes installed_plugin_folder(). Empty:
  /// there is no such folder.
  std::filesystem::path plugin_folder = {};
  /// Files, or names of installed plugins, that the constructor loads.
  std::vector<std::string> plugins = {};
  /// Where backends may keep what they find out about the machine, for later processes: a user's cache folder. Empty:
  /// nowhere.
  std::filesystem::path cache_folder = {};
};

/// The objects that a process which works with models has once: the devices, the registry with the built-ins, and the
/// plugin loader. It is neither copied nor moved. It is thread-safe: plugins may be loaded and registered while other
/// threads make and use models.
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

  /// Joins the processes of a job by Launch::transport. If nobody has registered that, but an installed plugin has the
  /// name, the plugin is loaded. Error{kUnsupported} if MPI is needed and its plugin is not installed;
  /// Error{kInvalidArgument} that lists what is here for any other unknown name; else what the transport throws.
  std::unique_ptr<collective::Collective> join(const collective::Launch& launch);

  /// Links this process's device to those of the others, as Launch::device_links asks. Every process of the job has to
  /// call it, whatever its device. Returns nullptr if the devices are not linked; `log` gets the reason where devices
  /// of this kind could be. Error{kUnsupported} if links were demanded and cannot be made.
  std::unique_ptr<collective::DeviceLinks> link(const collective::Launch& launch, collective::Collective& ranks,
                                                tensor::Device device, const core::LogSink& log = {},
                                                const std::stop_token& stop = {}) const;

  /// Opens a model folder, or what a registered importer recognises, with that importer's default options: see
  /// formats::open_model(). While a model that was opened here is in use, the same path gives the same object: a caller
  /// that holds it while it reads the model's defaults, counts its parameters and loads it opens the files once.
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

/// Returns the default host, for programs that make none. The first call makes it. It finds installed plugins by their
/// names (installed_plugin_folder()), has no cache folder, and lives as long as the process. Thread-safe.
Host& default_host();

/// The advice for a user who requests an NVIDIA GPU without the plugin for it.
inline constexpr std::string_view kHowToGetCuda =
    "this installation has no plugin 'cuda'; build Dragoman where nvcc is (CUDA 12 or later), and install it anew";

/// The advice for a user who starts several processes without the plugin for MPI.
inline constexpr std::string_view kHowToGetMpi =
    "this installation has no plugin 'mpi'; build Dragoman where the headers of an MPI are (Debian: libopenmpi-dev), "
    "and install it anew";

/// Returns the folder `dragoman/plugins` next to the shared library that contains this function:
/// <prefix>/lib/dragoman/plugins in an installation. Empty if the system cannot tell where the library is.
std::filesystem::path installed_plugin_folder();

}  // namespace dragoman::plugins
