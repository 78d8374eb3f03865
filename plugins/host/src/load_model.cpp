#include "dragoman/host/load_model.h"

#include <dragoman/core/error.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::plugins {
namespace {

void require_plugin(const formats::ModelConfig& config, const std::string& where, Host& host, bool may_load) {
  if (config.plugin.empty()) return;
  core::require(may_load || host.loader().find(config.plugin) != nullptr, core::ErrorCode::kInvalidArgument,
                "{}: the model needs the plugin '{}', which is not loaded; name it with --plugin", where,
                config.plugin);
  host.loader().require_plugin(config.plugin);
}

std::unique_ptr<nn::Seq2SeqModel> make_empty_model(const formats::ModelConfig& config, const std::string& where,
                                                   const Registry& registry) {
  try {
    return registry.models().get(config.model_type).make(config.sequences, config.model);
  } catch (const core::Error& error) {
    core::fail(core::ErrorCode::kBadInput, "{}: {}", where, error.what());
  }
}

formats::LoadOptions weight_options(const LoadModelOptions& options, const runtime::Runtime& runtime) {
  return {.device_memory = &runtime.memory(options.device),
          .dtype = runtime.float_type(options.device),
          .device = options.device,
          .memory = options.trainable ? formats::WeightMemory::kOwned : formats::WeightMemory::kMapped,
          .stored_types = runtime.backend(options.device).takes_stored_types()};
}

}  // namespace

LoadedModel load_model(const std::filesystem::path& folder, Host& host, const LoadModelOptions& options) {
  const formats::ModelFolder opened = formats::ModelFolder::open(folder);
  const std::string where = (folder / formats::ModelFiles::kConfig).string();
  require_plugin(opened.config(), where, host, options.may_load_plugin);
  LoadedModel loaded{make_empty_model(opened.config(), where, host.registry()), opened.source_tokenizer(),
                     opened.target_tokenizer(), opened.config()};
  opened.load_weights(*loaded.model, weight_options(options, host.runtime()));
  return loaded;
}

}  // namespace dragoman::plugins
