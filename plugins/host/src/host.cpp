#include "dragoman/plugins/host.h"

#include "builtins.h"

#include <dlfcn.h>

namespace dragoman::plugins {

Host::Host(const HostOptions& options) : registry_(runtime_), loader_(registry_, options.plugin_folder) {
  Registrar registrar;
  register_builtins(registrar);
  registry_.add(kBuiltin, registrar.take());
  for (const std::string& plugin : options.plugins) loader_.load(plugin);
}

tensor::Device Host::device(const std::string& name) {
  const std::string backend(name == runtime::kAutoDevice ? "cuda" : runtime::backend_of(name));
  if (runtime_.find(backend) == nullptr && loader_.find(backend) == nullptr && loader_.is_installed(backend))
    loader_.load(backend);
  return runtime_.device(name);
}

std::unique_ptr<collective::Collective> Host::join(const collective::Launch& launch, const core::LogSink& log,
                                                   const std::stop_token& stop) {
  collective::check(launch);
  const std::string& name = launch.transport;
  if (name == collective::kNoTransport) return collective::make_single();
  if (registry_.collectives().find(name) == nullptr && loader_.find(name) == nullptr && loader_.is_installed(name))
    loader_.load(name);
  return registry_.collectives().get(name).make(launch, log, stop);
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
