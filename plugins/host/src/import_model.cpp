#include "dragoman/plugins/import_model.h"

#include "dragoman/plugins/load_model.h"
#include "make_model.h"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::plugins {
namespace {

using core::ErrorCode;
using std::filesystem::path;

const ModelImporterEntry& importer_for(const Registry& registry, const path& from, const std::string& name) {
  if (!name.empty()) return registry.model_importers().get(name);
  core::require(!formats::is_model_folder(from), ErrorCode::kInvalidArgument,
                "{}: is a model folder already, there is nothing to import", from.string());
  const ModelImporterEntry* found = find_importer(registry, from);
  core::require(found != nullptr, ErrorCode::kInvalidArgument,
                "{}: no importer recognises it; `dragoman plugins list` shows those that there are, others need "
                "--plugin FILE",
                from.string());
  return *found;
}

/// Reads one parameter after the other, and lets the importer finish after the last.
formats::ParameterSource values_of(ForeignModel& foreign, const nn::ParameterStore& store) {
  return [&foreign, &store](const nn::Parameter& parameter, const tensor::Tensor& out) {
    foreign.read(parameter, out);
    if (&parameter == &store.all().back()) foreign.finish();
  };
}

/// As config.json will name it: by who has registered the kind, whatever the importer says.
formats::TokenizerContent with_provider(formats::TokenizerContent tokenizer, const path& from, Host& host,
                                        bool may_load) {
  if (tokenizer.empty()) return tokenizer;
  require_plugin(tokenizer.stored.plugin, "tokenizer", from.string(), host, may_load);
  tokenizer.stored.plugin = plugin_of(host.registry().tokenizers(), tokenizer.stored.kind.type);
  return tokenizer;
}

}  // namespace

const ModelImporterEntry* find_importer(const Registry& registry, const path& from) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(from, ignored) && !std::filesystem::is_directory(from, ignored)) return nullptr;
  const ModelImporterEntry* found = nullptr;
  std::vector<std::string> names;
  for (const auto& registered : registry.model_importers().all()) {
    if (!registered->entry.recognises(from)) continue;
    names.push_back(registered->entry.name);
    found = &registered->entry;
  }
  core::require(names.size() <= 1, ErrorCode::kInvalidArgument,
                "{}: looks like a model for several importers: {}; name one (--from)", from.string(),
                fmt::join(names, ", "));
  return found;
}

void import_model(const path& from, const path& output, Host& host, const ImportOptions& options) {
  core::require_not_an_input(output, {from});
  core::require_not_in_the_way(from, output);
  formats::require_replaceable(output);
  const ModelImporterEntry& importer = importer_for(host.registry(), from, options.importer);
  core::OptionReader own(options.options, fmt::format("options of the importer {}", importer.name));
  const std::unique_ptr<ForeignModel> foreign = importer.make(from, own);
  own.finish();
  const ModelDescription described = foreign->describe();
  const bool may_load = options.may_load_plugin;
  require_plugin(described.plugin, "model", from.string(), host, may_load);
  const auto model =
      make_empty_model(described.model_type, described.sequences, described.model, from.string(), host.registry());
  formats::write_model_folder(output,
                              {.model_type = described.model_type,
                               .plugin = plugin_of(host.registry().models(), described.model_type),
                               .model = model.get(),
                               .tokenizer = with_provider(described.tokenizer, from, host, may_load),
                               .source_tokenizer = with_provider(described.source_tokenizer, from, host, may_load),
                               .target_tokenizer = with_provider(described.target_tokenizer, from, host, may_load),
                               .card = described.card,
                               .values = values_of(*foreign, model->parameters()),
                               .values_from = from.string(),
                               .decoding = described.decoding,
                               .shortlist = described.shortlist,
                               .languages = described.languages,
                               .opener = tokenizer_opener(host, may_load)});
}

}  // namespace dragoman::plugins
