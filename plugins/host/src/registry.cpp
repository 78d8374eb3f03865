#include "dragoman/host/registry.h"

namespace dragoman::plugins {
namespace {

template <class Entry>
void add_all(Catalogue<Entry>& catalogue, std::vector<Entry>& entries, const std::string& provider) {
  for (Entry& entry : entries) catalogue.add(std::move(entry), provider);
}

}  // namespace

Registry::Registry(runtime::Runtime& runtime) : runtime_(&runtime) {}

void Registry::add(const std::string& provider, Contributions contributions) {
  Catalogues extended = catalogues_;
  add_all(extended.models, contributions.models, provider);
  add_all(extended.search_strategies, contributions.search_strategies, provider);
  add_all(extended.logits_processors, contributions.logits_processors, provider);
  add_all(extended.tokenizers, contributions.tokenizers, provider);
  add_all(extended.stages, contributions.stages, provider);
  install(provider, contributions.kernels);
  catalogues_ = std::move(extended);
}

void Registry::install(const std::string& provider, const std::vector<KernelEntry>& kernels) {
  const std::size_t before = kernels_.size();
  try {
    for (const KernelEntry& kernel : kernels) {
      if (!runtime_->available(kernel.device)) continue;
      kernels_.reserve(kernels_.size() + 1);
      Kernel record{kernel.name, kernel.device, provider};
      kernel.install(runtime_->kernels(kernel.device));
      kernels_.push_back(std::move(record));
    }
  } catch (...) {
    uninstall_after(before);
    throw;
  }
}

void Registry::uninstall_after(std::size_t count) noexcept {
  for (; kernels_.size() > count; kernels_.pop_back())
    runtime_->kernels(kernels_.back().device).erase(kernels_.back().op);
}

}  // namespace dragoman::plugins
