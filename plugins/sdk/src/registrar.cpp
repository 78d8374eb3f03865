#include "dragoman/plugins/registrar.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::plugins {
namespace {

bool is_name_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '-' || character == '_' || character == '.';
}

void check_name(std::string_view kind, const std::string& name) {
  core::require(!name.empty() && std::ranges::all_of(name, is_name_character), core::ErrorCode::kInvalidArgument,
                "'{}' cannot be the name of a {}: use letters, digits, '-', '_' and '.'", name, kind);
}

/// Wraps a factory so that a nullptr result is an error.
template <class Made, class... Arguments>
std::function<Made(Arguments...)> checked(std::function<Made(Arguments...)> make, std::string what) {
  return [make = std::move(make), what = std::move(what)](Arguments... arguments) {
    Made made = make(std::forward<Arguments>(arguments)...);
    core::require(made != nullptr, core::ErrorCode::kInternal, "the factory of the {} made none", what);
    return made;
  };
}

template <class Entry>
void append(std::vector<Entry>& entries, Entry entry, std::string_view kind) {
  check_name(kind, entry.name);
  core::require(static_cast<bool>(entry.make), core::ErrorCode::kInvalidArgument, "the {} '{}' has no factory", kind,
                entry.name);
  entry.make = checked(std::move(entry.make), fmt::format("{} '{}'", kind, entry.name));
  entries.push_back(std::move(entry));
}

}  // namespace

void Registrar::add(ModelEntry entry) {
  append(contributions_.models, std::move(entry), "model");
}

void Registrar::add(SearchStrategyEntry entry) {
  append(contributions_.search_strategies, std::move(entry), "search strategy");
}

void Registrar::add(LogitsProcessorEntry entry) {
  append(contributions_.logits_processors, std::move(entry), "logits processor");
}

void Registrar::add(TokenizerEntry entry) {
  append(contributions_.tokenizers, std::move(entry), "tokenizer");
}

void Registrar::add(StageEntry entry) {
  append(contributions_.stages, std::move(entry), "pipeline stage");
}

void Registrar::add(ModelImporterEntry entry) {
  core::require(static_cast<bool>(entry.recognises), core::ErrorCode::kInvalidArgument,
                "the model importer '{}' cannot say what it recognises", entry.name);
  append(contributions_.model_importers, std::move(entry), "model importer");
}

void Registrar::add(CollectiveEntry entry) {
  append(contributions_.collectives, std::move(entry), "collective");
}

void Registrar::add(DeviceLinksEntry entry) {
  core::require(static_cast<bool>(entry.offer), core::ErrorCode::kInvalidArgument,
                "the device links '{}' cannot say what they need", entry.name);
  append(contributions_.device_links, std::move(entry), "device links");
}

void Registrar::add(std::shared_ptr<tensor::Backend> backend) {
  core::require(backend != nullptr, core::ErrorCode::kInvalidArgument, "there is no backend to add");
  contributions_.backends.push_back(std::move(backend));
}

void Registrar::add_kernel(KernelEntry entry) {
  check_name("op", entry.name);
  static_cast<void>(tensor::Device::of(entry.backend));  // throws if this cannot be the name of a backend
  contributions_.kernels.push_back(std::move(entry));
}

}  // namespace dragoman::plugins
