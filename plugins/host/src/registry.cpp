#include "dragoman/plugins/registry.h"

#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::plugins {
namespace {

template <class Entry>
void add_all(Catalogue<Entry>& catalogue, std::vector<Entry>& entries, const std::string& provider) {
  for (Entry& entry : entries) catalogue.add(std::move(entry), provider);
}

}  // namespace

Registry::Registry(runtime::Runtime& runtime) : runtime_(&runtime) {
  for (const std::string_view name : pipeline::kBuiltInStageNames) catalogues_.stages.reserve(name, kBuiltin);
  catalogues_.search_strategies.reserve(pipeline::kMbr, kBuiltin);
  // `convert --from` takes the names of both.
  for (const tokenizer::FileKind kind : tokenizer::registered_kinds())
    catalogues_.model_importers.reserve(tokenizer::name_of(kind), kBuiltin);
  catalogues_.model_importers.reserve(tokenizer::name_of(tokenizer::FileKind::kGpt2), kBuiltin);
}

void Registry::add(const std::string& provider, Contributions contributions) {
  Catalogues extended = catalogues_;
  add_all(extended.models, contributions.models, provider);
  add_all(extended.search_strategies, contributions.search_strategies, provider);
  add_all(extended.logits_processors, contributions.logits_processors, provider);
  add_all(extended.tokenizers, contributions.tokenizers, provider);
  add_all(extended.stages, contributions.stages, provider);
  add_all(extended.model_importers, contributions.model_importers, provider);
  add_all(extended.collectives, contributions.collectives, provider);
  add_all(extended.device_links, contributions.device_links, provider);
  std::vector<WaitingKernel> wanted = waiting_;
  for (KernelEntry& kernel : contributions.kernels) wanted.push_back({std::move(kernel), provider});
  const Extent before{backends_.size(), kernels_.size()};
  try {
    install_backends(provider, contributions);
    waiting_ = install_kernels(std::move(wanted));
  } catch (...) {
    uninstall_after(before);
    throw;
  }
  catalogues_ = std::move(extended);
}

void Registry::install_backends(const std::string& provider, const Contributions& contributions) {
  for (const std::shared_ptr<tensor::Backend>& backend : contributions.backends) {
    backends_.reserve(backends_.size() + 1);
    Backend record{std::string(backend->name()), provider};
    runtime_->add(backend);
    backends_.push_back(std::move(record));
  }
}

std::vector<Registry::WaitingKernel> Registry::install_kernels(std::vector<WaitingKernel> kernels) {
  std::vector<WaitingKernel> left;
  for (WaitingKernel& kernel : kernels) {
    tensor::Backend* backend = runtime_->find(kernel.entry.backend);
    if (backend == nullptr) {
      left.push_back(std::move(kernel));
      continue;
    }
    kernels_.reserve(kernels_.size() + 1);
    Kernel record{kernel.entry.name, kernel.entry.backend, kernel.provider};
    kernel.entry.install(backend->kernels());
    kernels_.push_back(std::move(record));
  }
  return left;
}

void Registry::uninstall_after(const Extent& before) noexcept {
  for (; kernels_.size() > before.kernels; kernels_.pop_back())
    runtime_->find(kernels_.back().backend)->kernels().erase(kernels_.back().op);
  for (; backends_.size() > before.backends; backends_.pop_back()) runtime_->remove_last();
}

}  // namespace dragoman::plugins
