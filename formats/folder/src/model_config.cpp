#include "dragoman/formats/model_config.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/format_version.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::Json;

bool is_plain_name(const std::string& name, std::string_view marks) {
  const auto allowed = [marks](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || marks.find(c) != marks.npos;
  };
  return name.size() <= 100 && std::all_of(name.begin(), name.end(), allowed);
}

/// The name of a plugin must not be a path, because it is looked up as a file in a folder of plugins.
std::string read_plugin_name(core::OptionReader& options) {
  std::string name = options.get("plugin", "");
  options.check(is_plain_name(name, "_-"), "plugin", "must be the plain name of a plugin: letters, digits, _ and -");
  return name;
}

tokenizer::TokenizerSpec read_stored_tokenizer(core::OptionReader options) {
  tokenizer::TokenizerSpec stored;
  stored.type = options.require_key<std::string>("type");
  options.check(!stored.type.empty() && is_plain_name(stored.type, "_-."), "type",
                "must be the name of a registered kind: letters, digits, _, - and .");
  stored.plugin = read_plugin_name(options);
  if (options.has("options")) stored.options = options.subtree("options");
  options.check(stored.options.get().is_object(), "options", "must hold keys and values");
  options.finish();
  return stored;
}

StoredTokenizers read_stored_tokenizers(core::OptionReader options) {
  if (!options.has("source") && !options.has("target")) {
    const tokenizer::TokenizerSpec joint = read_stored_tokenizer(std::move(options));
    return {joint, joint, true};
  }
  StoredTokenizers stored{read_stored_tokenizer(options.child("source")),
                          read_stored_tokenizer(options.child("target")), false};
  options.finish();
  return stored;
}

Json to_json(const tokenizer::TokenizerSpec& stored) {
  Json json{{"type", stored.kind()}};
  if (!stored.plugin.empty()) json["plugin"] = stored.plugin;
  if (!stored.options.empty()) json["options"] = stored.options.get();
  return json;
}

Json to_json(const StoredTokenizers& stored) {
  if (stored.joint) return to_json(stored.source);
  return {{"source", to_json(stored.source)}, {"target", to_json(stored.target)}};
}

}  // namespace

std::unique_ptr<tokenizer::Tokenizer> open_built_in_tokenizer(const tokenizer::TokenizerSpec& stored,
                                                              const tokenizer::TokenizerFile& file,
                                                              const std::string& where) {
  for (const tokenizer::FileKind kind : tokenizer::registered_kinds()) {
    if (tokenizer::name_of(kind) != stored.kind()) continue;
    core::OptionReader options(stored.options.get(), where + ": options");
    std::unique_ptr<tokenizer::Tokenizer> made = tokenizer::make_tokenizer(kind, file, options);
    options.finish();
    return made;
  }
  return nullptr;
}

ModelConfig read_model_config(const Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  if (json.is_object() && !json.contains("format_version") && json.value("model_type", Json()).is_string())
    core::fail(ErrorCode::kBadInput,
               "{}: has the model_type {}, but no format_version, so it is of transformers and of no model folder; "
               "`dragoman plugins list` shows which models of other toolkits can be used",
               where, core::quote(json["model_type"].get<std::string>()));
  options.require_key<std::int64_t>("format_version");
  const std::int64_t version = core::require_known_version(json, ModelConfig::kFormatVersion, where);
  ModelConfig config;
  config.model_type = options.require_key<std::string>("model_type");
  options.check(!config.model_type.empty(), "model_type", "is empty");
  config.plugin = read_plugin_name(options);
  if (version >= 2 && options.has("tokenizer")) config.tokenizers = read_stored_tokenizers(options.child("tokenizer"));
  config.sequences = nn::read_sequence_spec(options.subtree("sequences"), where + ": sequences");
  if (const Json& model = options.subtree("model"); !model.is_null()) config.model = model;
  options.check(config.model.is_object(), "model", "must hold keys and values");
  if (version >= 2 && options.has("compute")) {
    config.compute = tensor::find_compute_choice(options.require_key<std::string>("compute"));
    options.check(config.compute.has_value(), "compute", "must be " + tensor::list_compute_choices());
  }
  if (version >= 2 && options.has("decoding")) {
    config.decoding = options.subtree("decoding");
    options.check(config.decoding.is_object(), "decoding", "must hold keys and values");
    decoding::read_model_defaults(config.decoding, where + ": decoding");
  }
  if (version >= 3 && options.has("languages"))
    config.languages = read_language_table(options.subtree("languages"), config.sequences, where + ": languages");
  options.finish();
  return config;
}

Json to_json(const ModelConfig& config) {
  const int version = !config.languages.empty()                                         ? 3
                      : config.tokenizers || config.compute || !config.decoding.empty() ? 2
                                                                                        : 1;
  Json json{{"format_version", version}, {"model_type", config.model_type}};
  if (!config.plugin.empty()) json["plugin"] = config.plugin;
  if (config.tokenizers) json["tokenizer"] = to_json(*config.tokenizers);
  json["sequences"] = nn::to_json(config.sequences);
  json["model"] = config.model;
  if (config.compute) json["compute"] = name_of(*config.compute);
  if (!config.decoding.empty()) json["decoding"] = config.decoding;
  if (!config.languages.empty()) json["languages"] = to_json(config.languages);
  return json;
}

}  // namespace dragoman::formats
