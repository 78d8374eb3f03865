#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/plugins/catalogue.h>
#include <dragoman/plugins/registrar.h>
#include <dragoman/runtime/runtime.h>

namespace dragoman::plugins {

/// The provider of what is built in.
inline constexpr const char* kBuiltin = "dragoman";

/// What config.json says under `plugin` of a type of this name: who has registered it; nothing for what is built in, or
/// not there.
template <class Entry>
std::string plugin_of(const Catalogue<Entry>& catalogue, std::string_view type) {
  const Registered<Entry>* registered = catalogue.find(type);
  return registered == nullptr || registered->provider == kBuiltin ? std::string() : registered->provider;
}

/// What is registered, and by whom. One for a process is the rule, made at start-up; add() and look-ups must not
/// overlap, look-ups may come from any thread.
class Registry {
 public:
  /// Kernels go to `runtime`, which must outlive the registry.
  explicit Registry(runtime::Runtime& runtime);

  /// Takes all of `contributions` or, if a name is taken or anything else throws, nothing.
  void add(const std::string& provider, Contributions contributions);

  const Catalogue<ModelEntry>& models() const noexcept { return catalogues_.models; }
  const Catalogue<SearchStrategyEntry>& search_strategies() const noexcept { return catalogues_.search_strategies; }
  const Catalogue<LogitsProcessorEntry>& logits_processors() const noexcept { return catalogues_.logits_processors; }
  const Catalogue<TokenizerEntry>& tokenizers() const noexcept { return catalogues_.tokenizers; }
  const Catalogue<StageEntry>& stages() const noexcept { return catalogues_.stages; }
  const Catalogue<ModelImporterEntry>& model_importers() const noexcept { return catalogues_.model_importers; }

  const Catalogue<CollectiveEntry>& collectives() const noexcept { return catalogues_.collectives; }
  const Catalogue<DeviceLinksEntry>& device_links() const noexcept { return catalogues_.device_links; }

  /// Backends that came from plugins; all are in the runtime.
  struct Backend {
    std::string name;
    std::string provider;
  };
  const std::vector<Backend>& backends() const noexcept { return backends_; }

  /// Kernels that came from plugins; those of the backends are in the runtime's tables.
  struct Kernel {
    std::string op;
    std::string backend;
    std::string provider;
  };
  const std::vector<Kernel>& kernels() const noexcept { return kernels_; }

 private:
  struct Catalogues {
    Catalogue<ModelEntry> models{"model"};
    Catalogue<SearchStrategyEntry> search_strategies{"search strategy"};
    Catalogue<LogitsProcessorEntry> logits_processors{"logits processor"};
    Catalogue<TokenizerEntry> tokenizers{"tokenizer"};
    Catalogue<StageEntry> stages{"pipeline stage"};
    Catalogue<ModelImporterEntry> model_importers{"model importer"};
    Catalogue<CollectiveEntry> collectives{"collective"};
    Catalogue<DeviceLinksEntry> device_links{"device links"};
  };

  struct WaitingKernel {
    KernelEntry entry;
    std::string provider;
  };
  struct Extent {
    std::size_t backends;
    std::size_t kernels;
  };

  void install_backends(const std::string& provider, const Contributions& contributions);
  /// Those for which there is a backend; returns the others.
  std::vector<WaitingKernel> install_kernels(std::vector<WaitingKernel> kernels);
  void uninstall_after(const Extent& before) noexcept;

  runtime::Runtime* runtime_;
  Catalogues catalogues_;
  std::vector<Backend> backends_;
  std::vector<Kernel> kernels_;
  std::vector<WaitingKernel> waiting_;
};

}  // namespace dragoman::plugins
