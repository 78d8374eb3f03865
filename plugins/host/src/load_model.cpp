#include "dragoman/plugins/load_model.h"

#include "dragoman/plugins/open_tokenizer.h"
#include "make_model.h"

#include <dragoman/core/error.h>
#include <dragoman/formats/model_folder.h>

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

}  // namespace

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

LoadedModel load_model(const std::filesystem::path& folder, Host& host, const LoadModelOptions& options) {
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
