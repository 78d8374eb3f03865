#include "dragoman/plugins/import_model.h"

#include "dragoman/plugins/load_model.h"
#include "dragoman/plugins/model_reference.h"
#include "make_model.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::plugins {
namespace {

using core::ErrorCode;
using std::filesystem::path;

const ModelImporterEntry& importer_for(const Registry& registry, const path& from, const std::string& name) {
  if (!name.empty()) return registry.model_importers().get(name);
  if (formats::is_model_folder(from)) {
    formats::load_model_config(from);  // throws the reason if the folder cannot be read
    core::fail(ErrorCode::kInvalidArgument, "{}: is a model folder already, there is nothing to import", from.string());
  }
  const ModelImporterEntry* found = find_importer(registry, from);
  if (found == nullptr) explain_unrecognised(registry, from);
  core::require_option(
      found != nullptr, "plugin", ErrorCode::kInvalidArgument,
      "{}: no importer recognises it; `dragoman plugins list` shows those that there are, others come with "
      "a plugin (`plugin`)",
      from.string());
  return *found;
}

/// Reads one parameter after the other, and calls the importer's finish function after the last.
class ImportedValues {
 public:
  ImportedValues(formats::OpenedModel& opened, const nn::ParameterStore& store) : opened_(opened), store_(store) {}

  void read(const nn::Parameter& parameter, const tensor::Tensor& out) {
    core::check_stop("importing a model");
    opened_.read(parameter, out);
    const auto* bytes = reinterpret_cast<const char*>(out.as<float>());
    fingerprints_.emplace_back(parameter.name,
                               core::fingerprint({bytes, static_cast<std::size_t>(out.size()) * sizeof(float)}));
    if (&parameter == &store_.all().back()) opened_.finish();
  }
  /// The fingerprints of the values that were read, by parameter.
  std::vector<std::pair<std::string, std::uint64_t>> take_fingerprints() { return std::move(fingerprints_); }

 private:
  formats::OpenedModel& opened_;
  const nn::ParameterStore& store_;
  std::vector<std::pair<std::string, std::uint64_t>> fingerprints_;
};

/// Returns the tokenizer as config.json will specify it. Its plugin is the one that registered the kind, whatever the
/// importer names.
tokenizer::TokenizerSpec with_provider(tokenizer::TokenizerSpec tokenizer, const path& from, Host& host,
                                       bool may_load) {
  if (tokenizer.empty()) return tokenizer;
  require_plugin(tokenizer.plugin, "tokenizer", from.string(), host, may_load);
  tokenizer.plugin = plugin_of(host.registry().tokenizers(), tokenizer.type);
  return tokenizer;
}

}  // namespace

const ModelImporterEntry* find_importer(const Registry& registry, const path& from) {
  return formats::find_importer(entries_of(registry.model_importers()), from);
}

void explain_unrecognised(const Registry& registry, const path& from) {
  formats::explain_unrecognised(entries_of(registry.model_importers()), from);
}

formats::ModelFolderContent folder_content(const formats::OpenedModel& opened, const nn::Seq2SeqModel& model,
                                           Host& host, bool may_load) {
  const formats::ModelConfig& config = opened.config();
  const formats::ModelTokenizers tokenizers = opened.tokenizers();
  const auto named = [&](const tokenizer::TokenizerSpec& tokenizer) {
    return opened.is_model_folder() ? tokenizer : with_provider(tokenizer, opened.path(), host, may_load);
  };
  return {.model_type = config.model_type,
          .plugin = opened.is_model_folder() ? config.plugin : plugin_of(host.registry().models(), config.model_type),
          .model = &model,
          .tokenizer = named(tokenizers.joint),
          .source_tokenizer = named(tokenizers.source),
          .target_tokenizer = named(tokenizers.target),
          .card = opened.card(),
          .decoding = config.decoding,
          .shortlist = opened.shortlist(),
          .languages = config.languages,
          .opener = tokenizer_opener(host, may_load)};
}

void import_model(const path& from, const path& output, Host& host, const ImportOptions& options) {
  const core::StopScope scope(options.stop);
  core::check_stop("importing a model");
  core::require_not_an_input(output, {from});
  formats::require_replaceable(output);
  const ModelImporterEntry& importer = importer_for(host.registry(), from, options.importer);
  const std::unique_ptr<formats::OpenedModel> opened = formats::open_with(importer, from, options.options);
  for (const std::string& warning : opened->warnings()) core::log(options.log, core::LogLevel::kWarning, warning);
  const auto model = make_empty_model(*opened, host, options.may_load_plugin);
  opened->check(model->parameters());
  ImportedValues values(*opened, model->parameters());
  formats::ModelFolderContent content = folder_content(*opened, *model, host, options.may_load_plugin);
  content.values = [&](const nn::Parameter& parameter, const tensor::Tensor& out) { values.read(parameter, out); };
  content.values_from = from.string();
  content.reference = [&](const path& folder) {
    return make_model_reference(folder, host, values.take_fingerprints(), options.stop);
  };
  formats::write_model_folder(output, content);
}

}  // namespace dragoman::plugins
