#include "dragoman/plugins/registry.h"

#include <algorithm>
#include <map>

#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::plugins {
namespace {

template <class Entry>
void add_all(Catalogue<Entry>& catalogue, std::vector<Entry>& entries, const std::string& provider) {
  for (Entry& entry : entries) catalogue.add(std::move(entry), provider);
}

}  // namespace

Registry::Known Registry::reserved_names() {
  Known known;
  for (const std::string_view name : pipeline::kBuiltInStageNames) known.stages.reserve(name, kBuiltin);
  known.search_strategies.reserve(decoding::kMbr, kBuiltin);
  // `convert --from` accepts names of both kinds.
  for (const tokenizer::FileKind kind : tokenizer::registered_kinds())
    known.model_importers.reserve(tokenizer::name_of(kind), kBuiltin);
  known.model_importers.reserve(tokenizer::name_of(tokenizer::FileKind::kGpt2), kBuiltin);
  return known;
}

Registry::Registry(runtime::Runtime& runtime) : runtime_(&runtime), known_(reserved_names()) {}

void Registry::add(const std::string& provider, Contributions contributions) {
  known_.update([&](Known& known) {
    add_all(known.models, contributions.models, provider);
    add_all(known.search_strategies, contributions.search_strategies, provider);
    add_all(known.logits_processors, contributions.logits_processors, provider);
    add_all(known.tokenizers, contributions.tokenizers, provider);
    add_all(known.stages, contributions.stages, provider);
    add_all(known.model_importers, contributions.model_importers, provider);
    add_all(known.collectives, contributions.collectives, provider);
    add_all(known.device_links, contributions.device_links, provider);
    for (const auto& backend : contributions.backends)
      known.backends.push_back({std::string(backend->name()), provider});
    for (KernelEntry& kernel : contributions.kernels) known.waiting.push_back({std::move(kernel), provider});
    install(std::move(contributions.backends), known);
  });
}

void Registry::install(std::vector<std::shared_ptr<tensor::Backend>> added, Known& known) {
  std::map<tensor::Backend*, std::vector<const KernelEntry*>> of_backends;
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find(added, name, [](const auto& backend) { return backend->name(); });
    return found == added.end() ? runtime_->find(name) : found->get();
  };
  std::vector<WaitingKernel> here;
  std::vector<WaitingKernel> waiting;
  for (WaitingKernel& kernel : known.waiting)
    (find(kernel.entry.backend) == nullptr ? waiting : here).push_back(std::move(kernel));
  for (const WaitingKernel& kernel : here) {
    of_backends[find(kernel.entry.backend)].push_back(&kernel.entry);
    known.kernels.push_back({kernel.entry.name, kernel.entry.backend, kernel.provider});
  }
  known.waiting = std::move(waiting);
  const auto install_all = [](const std::vector<const KernelEntry*>& kernels, tensor::KernelTable& table) {
    for (const KernelEntry* kernel : kernels) kernel->install(table);
  };
  // All kernels are tried before any table is replaced, so that a rejected plugin changes nothing.
  for (const auto& [backend, kernels] : of_backends) {
    tensor::KernelTable trial = backend->kernels();
    install_all(kernels, trial);
  }
  runtime_->add(added);
  for (const auto& [backend, kernels] : of_backends)
    backend->add_kernels([&, &kernels = kernels](tensor::KernelTable& table) { install_all(kernels, table); });
}

}  // namespace dragoman::plugins
