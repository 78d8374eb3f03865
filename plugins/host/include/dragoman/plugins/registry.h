#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/versioned.h>
#include <dragoman/plugins/catalogue.h>
#include <dragoman/plugins/registrar.h>
#include <dragoman/runtime/runtime.h>

namespace dragoman::plugins {

/// The provider name of built-in entries.
inline constexpr const char* kBuiltin = "dragoman";

/// Returns the value of `plugin` in config.json for a type of this name: the provider that registered it. Empty for a
/// built-in or unknown type.
template <class Entry>
std::string plugin_of(const Catalogue<Entry>& catalogue, std::string_view type) {
  const Registered<Entry>* registered = catalogue.find(type);
  return registered == nullptr || registered->provider == kBuiltin ? std::string() : registered->provider;
}

/// The registered types of models, tokenizers, strategies and so on, each with its provider. Thread-safe: look-ups take
/// no lock, and plugins may be registered while other threads use registered entries. The result of a look-up (a
/// catalogue, an entry, a list) stays valid and unchanged for the lifetime of the registry. A later look-up returns a
/// catalogue that includes entries added in the meantime.
///
///     const Host host;                                                   // host.h
///     const ModelEntry& entry = host.registry().models().get("transformer");
///     const auto model = entry.make({.source_vocabulary = 8000, .target_vocabulary = 8000}, entry.example);
class Registry {
 public:
  /// Kernels are installed in `runtime`, which must outlive the registry.
  explicit Registry(runtime::Runtime& runtime);

  /// Registers all of `contributions`. If a name is taken or anything else throws, registers nothing.
  void add(const std::string& provider, Contributions contributions);

  const Catalogue<ModelEntry>& models() const noexcept { return known().models; }
  const Catalogue<SearchStrategyEntry>& search_strategies() const noexcept { return known().search_strategies; }
  const Catalogue<LogitsProcessorEntry>& logits_processors() const noexcept { return known().logits_processors; }
  const Catalogue<TokenizerEntry>& tokenizers() const noexcept { return known().tokenizers; }
  const Catalogue<StageEntry>& stages() const noexcept { return known().stages; }
  const Catalogue<ModelImporterEntry>& model_importers() const noexcept { return known().model_importers; }

  const Catalogue<CollectiveEntry>& collectives() const noexcept { return known().collectives; }
  const Catalogue<DeviceLinksEntry>& device_links() const noexcept { return known().device_links; }

  /// The backends from plugins. The runtime has all backends.
  struct Backend {
    std::string name;
    std::string provider;
  };
  const std::vector<Backend>& backends() const noexcept { return known().backends; }

  /// The kernels from plugins. The runtime's tables have all kernels of registered backends.
  struct Kernel {
    std::string op;
    std::string backend;
    std::string provider;
  };
  const std::vector<Kernel>& kernels() const noexcept { return known().kernels; }

 private:
  struct WaitingKernel {
    KernelEntry entry;
    std::string provider;
  };
  struct Known {
    Catalogue<ModelEntry> models{"model"};
    Catalogue<SearchStrategyEntry> search_strategies{"search strategy"};
    Catalogue<LogitsProcessorEntry> logits_processors{"logits processor"};
    Catalogue<TokenizerEntry> tokenizers{"tokenizer"};
    Catalogue<StageEntry> stages{"pipeline stage"};
    Catalogue<ModelImporterEntry> model_importers{"model importer"};
    Catalogue<CollectiveEntry> collectives{"collective"};
    Catalogue<DeviceLinksEntry> device_links{"device links"};
    std::vector<Backend> backends;
    std::vector<Kernel> kernels;
    /// Kernels for backends that are not registered yet.
    std::vector<WaitingKernel> waiting;
  };

  const Known& known() const noexcept { return known_.get(); }
  static Known reserved_names();
  /// Installs kernels in backends: the kernels of the new entries, and waiting kernels whose backend is now registered.
  void install(std::vector<std::shared_ptr<tensor::Backend>> added, Known& known);

  runtime::Runtime* runtime_;
  core::Versioned<Known> known_;
};

}  // namespace dragoman::plugins
