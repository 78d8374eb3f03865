#include "dragoman/plugins/host.h"

#include "builtins.h"

#include <chrono>

#include <dlfcn.h>
#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::plugins {
namespace {

constexpr std::string_view kCuda = "cuda";

/// Returns nullptr if there are none.
const DeviceLinksEntry* links_of(const Registry& registry, std::string_view wanted, tensor::Device device) {
  for (const auto& registered : registry.device_links().all()) {
    const DeviceLinksEntry& entry = registered->entry;
    if (entry.backend == device.backend() && (wanted == collective::kAutoLinks || wanted == entry.name)) return &entry;
  }
  return nullptr;
}

}  // namespace

Host::Host(const HostOptions& options)
    : registry_(runtime_), loader_(registry_, options.plugin_folder), cache_folder_(options.cache_folder) {
  Registrar registrar;
  register_builtins(registrar);
  registry_.add(kBuiltin, registrar.take());
  for (const std::string& plugin : options.plugins) loader_.load(plugin);
}

tensor::Device Host::device(const std::string& name, tensor::DeviceOptions options, const core::LogSink& log) {
  const std::string backend(name == runtime::kAutoDevice ? kCuda : runtime::backend_of(name));
  if (runtime_.find(backend) == nullptr && loader_.find(backend) == nullptr) {
    if (loader_.is_installed(backend))
      loader_.require_plugin(backend);
    else
      core::require(backend != kCuda || name == runtime::kAutoDevice, core::ErrorCode::kInvalidArgument,
                    "the device {} is not here: {}", core::quote(name), kHowToGetCuda);
  }
  const tensor::Device device = runtime_.device(name);
  tensor::Backend& chosen = runtime_.backend(device);
  options.cache = cache_folder_;
  // `auto` may select the CPU, which has no memory bound.
  if (name == runtime::kAutoDevice && chosen.memory(device.number()).host_readable()) options.memory = 0;
  {
    const std::lock_guard lock(configuring_);
    chosen.configure(options);
  }
  for (const std::string& line : chosen.missing())
    core::log(log, core::LogLevel::kWarning, fmt::format("device {}: {}", tensor::name_of(device), line));
  return device;
}

std::unique_ptr<collective::Collective> Host::join(const collective::Launch& launch) {
  const std::string& name = launch.transport;
  if (name == collective::kNone) return collective::make_single();
  if (registry_.collectives().find(name) == nullptr && loader_.find(name) == nullptr) {
    if (loader_.is_installed(name))
      loader_.require_plugin(name);
    else
      core::require(name != collective::kMpi, core::ErrorCode::kUnsupported,
                    "several processes work together by MPI, but {}", kHowToGetMpi);
  }
  return registry_.collectives().get(name).make(launch);
}

std::unique_ptr<collective::DeviceLinks> Host::link(const collective::Launch& launch, collective::Collective& ranks,
                                                    tensor::Device device, const core::LogSink& log,
                                                    const std::stop_token& stop) const {
  if (ranks.alone()) return nullptr;
  const std::string& wanted = launch.device_links;
  const DeviceLinksEntry* const entry = links_of(registry_, wanted, device);
  collective::LinkOffer offer;
  if (wanted == collective::kNone)
    offer.trouble = "its links between devices are switched off";
  else if (entry == nullptr)
    offer.trouble = fmt::format("it computes on the device '{}', for which there is no {}", tensor::name_of(device),
                                wanted == collective::kAutoLinks ? "way to link it" : wanted);
  else
    offer = entry->offer(device.number());
  const std::string reason = collective::reason_against_links(ranks, offer);
  if (reason.empty()) return entry->make({.ranks = ranks, .device = device.number(), .stop = stop});
  core::require(wanted == collective::kAutoLinks || wanted == collective::kNone, core::ErrorCode::kUnsupported,
                "the devices cannot be linked by {}: {}", wanted, reason);
  if (entry != nullptr)
    core::log(log, core::LogLevel::kWarning, fmt::format("gradients go through the host's memory: {}", reason));
  return nullptr;
}

std::shared_ptr<formats::OpenedModel> Host::open_model(const std::filesystem::path& path) const {
  std::error_code ignored;
  const std::filesystem::path key = std::filesystem::weakly_canonical(path, ignored);
  {
    std::unique_lock lock(opening_);
    // If another thread is opening the path, waits for that thread's model. If that thread fails, this call tries
    // again.
    constexpr std::chrono::milliseconds kBetweenChecks{20};
    while (!no_longer_opening_.wait_for(lock, kBetweenChecks, [&] { return !being_opened_.contains(key); }))
      core::check_stop("opening a model");
    std::erase_if(opened_, [](const auto& known) { return known.second.expired(); });
    if (const auto found = opened_.find(key); found != opened_.end())
      if (auto opened = found->second.lock()) return opened;
    being_opened_.insert(key);
  }
  const auto end_opening = [&](std::shared_ptr<formats::OpenedModel> opened) {
    {
      const std::lock_guard lock(opening_);
      being_opened_.erase(key);
      if (opened) opened_[key] = opened;
    }
    no_longer_opening_.notify_all();
    return opened;
  };
  // Without the lock, because opening may take long and other paths must not wait.
  try {
    return end_opening(formats::open_model(path, entries_of(registry_.model_importers())));
  } catch (...) {
    end_opening(nullptr);
    throw;
  }
}

Host& default_host() {
  // Never destroyed, because threads of the program may use models until the process ends.
  static Host* const host = new Host({.plugin_folder = installed_plugin_folder()});
  return *host;
}

std::filesystem::path installed_plugin_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&installed_plugin_folder), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  if (error) return {};
  return library.parent_path() / "dragoman" / "plugins";
}

}  // namespace dragoman::plugins
