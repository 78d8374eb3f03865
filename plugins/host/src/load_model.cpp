#include "dragoman/plugins/load_model.h"

#include "dragoman/plugins/import_model.h"
#include "dragoman/plugins/open_tokenizer.h"
#include "make_model.h"

#include <algorithm>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/options.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::plugins {
void require_plugin(const std::string& plugin, std::string_view user, const std::string& where, Host& host,
                    bool may_load) {
  if (plugin.empty()) return;
  core::require(may_load || host.loader().find(plugin) != nullptr, core::ErrorCode::kInvalidArgument,
                "{}: the {} needs the plugin '{}', which is not loaded; name it with --plugin", where, user, plugin);
  host.loader().require_plugin(plugin);
}

std::unique_ptr<nn::Seq2SeqModel> make_empty_model(const std::string& type, const nn::SequenceSpec& sequences,
                                                   const core::Json& own, const std::string& where,
                                                   const Registry& registry) {
  try {
    return registry.models().get(type).make(sequences, own);
  } catch (const core::Error& error) {
    core::fail(core::ErrorCode::kBadInput, "{}: {}", where, error.what());
  }
}

namespace {

formats::LoadOptions weight_options(const LoadModelOptions& options, const runtime::Runtime& runtime) {
  return {.device_memory = &runtime.memory(options.device),
          .dtype = runtime.float_type(options.device),
          .device = options.device,
          .memory = options.trainable ? formats::WeightMemory::kOwned : formats::WeightMemory::kMapped,
          .stored_types = runtime.backend(options.device).takes_stored_types()};
}

/// nullptr: it is a model folder, or nothing that anybody knows.
const ModelImporterEntry* find_foreign(const Registry& registry, const std::filesystem::path& path) {
  return formats::is_model_folder(path) ? nullptr : find_importer(registry, path);
}

std::unique_ptr<ForeignModel> open_foreign(const ModelImporterEntry& importer, const std::filesystem::path& path) {
  const core::Json none = core::Json::object();
  core::OptionReader own(none, "options of the importer " + importer.name);
  return importer.make(path, own);
}

formats::ModelConfig config_of(const ModelDescription& described, const std::string& where) {
  formats::ModelConfig config{.model_type = described.model_type,
                              .plugin = described.plugin,
                              .sequences = described.sequences,
                              .model = described.model,
                              .decoding = described.decoding,
                              .languages = described.languages};
  config.decoding.erase(decoding::kShortlistKey);
  // By the same rules as a folder's own.
  return formats::read_model_config(formats::to_json(config), where);
}

/// In the order of the parameters, as the file formats' loader does it.
void read_parameters(ForeignModel& foreign, nn::ParameterStore& store, const LoadModelOptions& options,
                     const runtime::Runtime& runtime) {
  const tensor::DType dtype = runtime.float_type(options.device);
  store.allocate(runtime.memory(options.device), dtype, options.device);
  std::vector<float> values;
  const auto unread = [](const tensor::Tensor& out) {
    // What nobody fills stays NaN, and is refused with what else is not finite.
    std::fill_n(out.as<float>(), out.size(), std::numeric_limits<float>::quiet_NaN());
  };
  for (const nn::Parameter& parameter : store.all()) {
    const auto view = tensor::HostView::to_be_written(store.memory(), parameter.value);
    if (dtype == tensor::DType::kF32) {
      unread(view.tensor());
      foreign.read(parameter, view.tensor());
    } else {
      values.resize(static_cast<std::size_t>(parameter.rows * parameter.cols));
      const tensor::Tensor host{values.data(),  parameter.rows,      parameter.cols,
                                parameter.cols, tensor::DType::kF32, tensor::Device::kCpu};
      unread(host);
      foreign.read(parameter, host);
      for (std::int64_t row = 0; row < host.rows; ++row)
        for (std::int64_t col = 0; col < host.cols; ++col)
          tensor::set_element(view.tensor(), row, col, tensor::element(host, row, col));
    }
    view.store();
  }
  store.values_changed();
  foreign.finish();
}

LoadedModel load_foreign(const ModelImporterEntry& importer, const std::filesystem::path& path, Host& host,
                         const LoadModelOptions& options) {
  const std::unique_ptr<ForeignModel> foreign = open_foreign(importer, path);
  const ModelDescription described = foreign->describe();
  const std::string where = path.string();
  require_plugin(described.plugin, "model", where, host, options.may_load_plugin);
  LoadedModel loaded{
      make_empty_model(described.model_type, described.sequences, described.model, where, host.registry()), nullptr,
      nullptr, config_of(described, where)};
  const formats::TokenizerOpener opener = tokenizer_opener(host, options.may_load_plugin);
  const auto open = [&](const formats::TokenizerContent& content, std::int64_t size) {
    std::shared_ptr<const tokenizer::Tokenizer> tokenizer =
        opener(content.stored, {path, content.content}, where + ": tokenizer");
    core::require(tokenizer->size() == size, core::ErrorCode::kBadInput,
                  "{}: its tokenizer has {} pieces, but the model {}", where, tokenizer->size(), size);
    return tokenizer;
  };
  const bool joint = !described.tokenizer.empty();
  loaded.source_tokenizer =
      open(joint ? described.tokenizer : described.source_tokenizer, described.sequences.source_vocabulary);
  loaded.target_tokenizer =
      joint ? loaded.source_tokenizer : open(described.target_tokenizer, described.sequences.target_vocabulary);
  foreign->check(loaded.model->parameters());
  read_parameters(*foreign, loaded.model->parameters(), options, host.runtime());
  return loaded;
}

}  // namespace

formats::ModelConfig load_config(const std::filesystem::path& path, const Registry& registry) {
  const ModelImporterEntry* const importer = find_foreign(registry, path);
  return importer == nullptr ? formats::load_model_config(path)
                             : config_of(open_foreign(*importer, path)->describe(), path.string());
}

formats::TokenizerOpener tokenizer_opener(Host& host, bool may_load) {
  return [&host, may_load](const formats::StoredTokenizer& stored, const tokenizer::TokenizerFile& file,
                           const std::string& where) {
    require_plugin(stored.plugin, "tokenizer", where, host, may_load);
    try {
      return make_tokenizer(host.registry(), stored.kind, file);
    } catch (const core::Error& error) {
      core::fail(core::ErrorCode::kBadInput, "{}: {}", where, error.what());
    }
  };
}

std::int64_t count_parameters(const std::filesystem::path& path, Host& host, bool may_load_plugin) {
  const formats::ModelConfig config = load_config(path, host.registry());
  const std::string where = path.string();
  require_plugin(config.plugin, "model", where, host, may_load_plugin);
  const auto model = make_empty_model(config.model_type, config.sequences, config.model, where, host.registry());
  return model->parameters().count();
}

LoadedModel load_model(const std::filesystem::path& folder, Host& host, const LoadModelOptions& options) {
  if (const ModelImporterEntry* importer = find_foreign(host.registry(), folder))
    return load_foreign(*importer, folder, host, options);
  const formats::ModelFolder opened =
      formats::ModelFolder::open(folder, tokenizer_opener(host, options.may_load_plugin));
  const std::string where = (folder / formats::ModelFiles::kConfig).string();
  require_plugin(opened.config().plugin, "model", where, host, options.may_load_plugin);
  LoadedModel loaded{make_empty_model(opened.config().model_type, opened.config().sequences, opened.config().model,
                                      where, host.registry()),
                     opened.source_tokenizer(), opened.target_tokenizer(), opened.config()};
  opened.load_weights(*loaded.model, weight_options(options, host.runtime()));
  return loaded;
}

}  // namespace dragoman::plugins
