#include "dragoman/plugins/load_model.h"

#include "dragoman/plugins/open_tokenizer.h"
#include "make_model.h"

#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/quote.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::plugins {
void require_plugin(const std::string& plugin, std::string_view user, const std::string& where, Host& host,
                    bool may_load) {
  if (plugin.empty()) return;
  core::require_option(may_load || host.loader().find(plugin) != nullptr, "plugin", core::ErrorCode::kInvalidArgument,
                       "{}: the {} needs the plugin {}, which is not loaded; name it with `plugin`", where, user,
                       core::Quoted{plugin});
  host.loader().require_plugin(plugin);
}

std::unique_ptr<nn::Seq2SeqModel> make_empty_model(const std::string& type, const nn::SequenceSpec& sequences,
                                                   const core::Json& own, const std::string& where,
                                                   const Registry& registry) {
  try {
    return registry.models().get(type).make(sequences, own);
  } catch (const core::Error& error) {
    if (error.code() == core::ErrorCode::kInterrupted) throw;
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

std::unique_ptr<nn::Seq2SeqModel> make_empty_model(const formats::OpenedModel& opened, Host& host, bool may_load) {
  const formats::ModelConfig& config = opened.config();
  const std::filesystem::path& path = opened.path();
  const std::string where = (opened.is_model_folder() ? path / formats::ModelFiles::kConfig : path).string();
  require_plugin(config.plugin, "model", where, host, may_load);
  return make_empty_model(config.model_type, config.sequences, config.model, where, host.registry());
}

formats::ModelConfig config_of(const formats::OpenedModel& opened) {
  formats::ModelConfig config = opened.config();
  if (!opened.is_model_folder()) config.decoding.erase(decoding::kShortlistKey);
  return config;
}

formats::ModelConfig load_config(const std::filesystem::path& path, const Host& host) {
  return config_of(*host.open_model(path));
}

formats::TokenizerOpener tokenizer_opener(Host& host, bool may_load) {
  return [&host, may_load](const tokenizer::TokenizerSpec& spec, const tokenizer::TokenizerFile& file,
                           const std::string& where) {
    require_plugin(spec.plugin, "tokenizer", where, host, may_load);
    try {
      return make_tokenizer(host.registry(), spec, file);
    } catch (const core::Error& error) {
      if (error.code() == core::ErrorCode::kInterrupted) throw;
      core::fail(core::ErrorCode::kBadInput, "{}: {}", where, error.what());
    }
  };
}

std::int64_t count_parameters(const formats::OpenedModel& opened, Host& host, bool may_load_plugin) {
  return make_empty_model(opened, host, may_load_plugin)->parameters().count();
}

std::int64_t count_parameters(const std::filesystem::path& path, Host& host, bool may_load_plugin) {
  return count_parameters(*host.open_model(path), host, may_load_plugin);
}

LoadedModel load_model(formats::OpenedModel& opened, Host& host, const LoadModelOptions& options) {
  formats::OpenedTokenizers tokenizers = opened.open_tokenizers(tokenizer_opener(host, options.may_load_plugin));
  LoadedModel loaded{make_empty_model(opened, host, options.may_load_plugin), std::move(tokenizers.source),
                     std::move(tokenizers.target), config_of(opened)};
  opened.load(*loaded.model, weight_options(options, host.runtime()));
  return loaded;
}

LoadedModel load_model(const std::filesystem::path& path, Host& host, const LoadModelOptions& options) {
  return load_model(*host.open_model(path), host, options);
}

}  // namespace dragoman::plugins
