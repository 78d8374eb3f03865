#include "dragoman/formats/model_folder.h"

#include "dragoman/formats/checksums.h"
#include "folder_replacement.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::Json;
using core::quote;
using Path = std::filesystem::path;
using tokenizer::Tokenizer;

/// A plugin is looked up as a file in a folder of plugins: its name must not be a path.
bool is_plugin_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return name.size() <= 100 && std::all_of(name.begin(), name.end(), allowed);
}

ModelConfig load_config(const Path& file) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;
  std::error_code ignored;
  const Path folder = file.parent_path();
  core::require(std::filesystem::exists(file, ignored) || !std::filesystem::exists(folder / "run.json", ignored),
                ErrorCode::kBadInput, "{}: is a training run; its models are the folders best and last in it",
                folder.string());
  return read_model_config(core::parse_json(core::read_regular_file(file, kLargest), file.string()), file.string());
}

/// Of a model folder, which may come from anywhere: a pipe in it might never end.
std::unique_ptr<Tokenizer> load_tokenizer_of_folder(const Path& file) {
  core::require(std::filesystem::is_regular_file(file) || !std::filesystem::exists(file), ErrorCode::kIo,
                "{}: is not a regular file but a pipe, a device or a folder; put a file there", file.string());
  return tokenizer::load_tokenizer(file);
}

/// One side of the translation, for messages and checks.
struct Side {
  const char* name;
  const Tokenizer* tokenizer;
  Path file;
  std::int64_t vocabulary;
};

void require_special(const Side& side, const char* key, std::int32_t id, const Path& config) {
  core::require(side.tokenizer->is_special(id), ErrorCode::kBadInput,
                "{}: sequences.{} is {}, but that is the piece {} of {}, which is not a special token", config.string(),
                key, id, quote(side.tokenizer->piece(id)), side.file.string());
}

void require_unknown(const Side& side, std::int32_t id, const Path& config) {
  const auto* bpe = dynamic_cast<const tokenizer::BpeTokenizer*>(side.tokenizer);
  if (bpe == nullptr || !bpe->definition().unknown) return require_special(side, "unknown", id, config);
  core::require(*bpe->definition().unknown == id, ErrorCode::kBadInput,
                "{}: sequences.unknown is {}, but the unknown token of {} is {}", config.string(), id,
                side.file.string(), *bpe->definition().unknown);
}

void check_side(const Side& side, const nn::SequenceSpec& spec, const Path& config) {
  core::require(side.tokenizer->size() == side.vocabulary, ErrorCode::kBadInput,
                "{}: sequences.{}_vocabulary is {}, but {} has {} pieces; model and tokenizer do not belong together",
                config.string(), side.name, side.vocabulary, side.file.string(), side.tokenizer->size());
  require_special(side, "end", spec.end, config);
  require_unknown(side, spec.unknown, config);
}

void write_tokenizer(const std::string& text, const Path& file) {
  core::require(tokenizer::recognise(file, text) == tokenizer::FileKind::kTokenizerJson, ErrorCode::kInvalidArgument,
                "{}: the tokenizer that is to be written there is not the text of a tokenizer.json; convert it first",
                file.string());
  core::write_file(file, text);
}

void write_tokenizers(const ModelFolderContent& content, const Path& folder) {
  const bool joint = !content.tokenizer_json.empty();
  const bool separate = !content.source_tokenizer_json.empty() && !content.target_tokenizer_json.empty();
  core::require(joint != separate &&
                    (separate || (content.source_tokenizer_json.empty() && content.target_tokenizer_json.empty())),
                ErrorCode::kInvalidArgument, "{}: a model needs either one joint tokenizer or one for each side",
                folder.string());
  if (joint) {
    write_tokenizer(content.tokenizer_json, folder / ModelFiles::kTokenizer);
  } else {
    write_tokenizer(content.source_tokenizer_json, folder / ModelFiles::kSourceTokenizer);
    write_tokenizer(content.target_tokenizer_json, folder / ModelFiles::kTargetTokenizer);
  }
}

}  // namespace

ModelConfig read_model_config(const Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  const int version = options.require_key<int>("format_version");
  core::require(version >= 1 && version <= ModelConfig::kFormatVersion, ErrorCode::kBadInput,
                "{}: format_version is {}; this program reads versions 1 to {}", where, version,
                ModelConfig::kFormatVersion);
  ModelConfig config;
  config.model_type = options.require_key<std::string>("model_type");
  options.check(!config.model_type.empty(), "model_type", "is empty");
  config.plugin = options.get("plugin", "");
  options.check(is_plugin_name(config.plugin), "plugin",
                "must be the plain name of a plugin: letters, digits, _ and -");
  config.sequences = nn::read_sequence_spec(options.subtree("sequences"), where + ": sequences");
  if (const Json& model = options.subtree("model"); !model.is_null()) config.model = model;
  options.check(config.model.is_object(), "model", "must hold keys and values");
  if (version >= 2) {
    const auto compute = tensor::find_compute(options.get("compute", std::string(name_of(config.compute))));
    options.check(compute.has_value(), "compute", "must be fp32, bf16, int8 or auto");
    config.compute = *compute;
  }
  options.finish();
  return config;
}

Json to_json(const ModelConfig& config) {
  const bool plain = config.compute == tensor::Compute::kF32;
  Json json{{"format_version", plain ? 1 : ModelConfig::kFormatVersion}, {"model_type", config.model_type}};
  if (!config.plugin.empty()) json["plugin"] = config.plugin;
  json["sequences"] = nn::to_json(config.sequences);
  json["model"] = config.model;
  if (!plain) json["compute"] = name_of(config.compute);
  return json;
}

ModelFolder ModelFolder::open(const Path& folder_path) {
  std::error_code ignored;
  core::require(std::filesystem::exists(folder_path, ignored), ErrorCode::kIo,
                "{}: there is no such folder; a model is a folder with config.json", folder_path.string());
  core::require(std::filesystem::is_directory(folder_path, ignored), ErrorCode::kIo,
                "{}: is not a folder; a model is a folder with config.json", folder_path.string());
  ModelFolder folder;
  folder.path_ = folder_path;
  const Path config_path = folder_path / ModelFiles::kConfig;
  folder.config_ = load_config(config_path);
  const bool joint = std::filesystem::exists(folder_path / ModelFiles::kTokenizer);
  const Path source_path = folder_path / (joint ? ModelFiles::kTokenizer : ModelFiles::kSourceTokenizer);
  const Path target_path = folder_path / (joint ? ModelFiles::kTokenizer : ModelFiles::kTargetTokenizer);
  folder.source_ = load_tokenizer_of_folder(source_path);
  folder.target_ = joint ? folder.source_ : load_tokenizer_of_folder(target_path);

  const nn::SequenceSpec& spec = folder.config_.sequences;
  const Side target{"target", folder.target_.get(), target_path, spec.target_vocabulary};
  check_side({"source", folder.source_.get(), source_path, spec.source_vocabulary}, spec, config_path);
  check_side(target, spec, config_path);
  require_special(target, "begin", spec.begin, config_path);
  return folder;
}

void ModelFolder::load_weights(nn::Seq2SeqModel& model, const LoadOptions& options) const {
  const Json configuration = to_json(config_);
  load_parameters(weights_path(), model.parameters(), options, &configuration);
}

bool is_model_folder(const Path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / ModelFiles::kConfig, ignored) &&
         std::filesystem::is_regular_file(folder / ModelFiles::kWeights, ignored);
}

void write_model_folder(const Path& target, const ModelFolderContent& content) {
  core::require(content.model != nullptr, ErrorCode::kInvalidArgument, "{}: there is no model to write",
                target.string());
  FolderReplacement replacement(target);
  const Path& folder = replacement.folder();
  const ModelConfig config{content.model_type, content.plugin, content.model->spec(), content.model->config(),
                           content.compute};
  core::write_file(folder / ModelFiles::kConfig, to_json(config).dump(2) + "\n");
  write_tokenizers(content, folder);
  core::write_file(folder / ModelFiles::kCard, content.card);
  ModelFolder::open(folder);  // What it would refuse must not be written.
  save_parameters(folder / ModelFiles::kWeights, content.model->parameters(), content.dtype, content.metadata);
  write_checksums(folder);
  replacement.commit();
}

}  // namespace dragoman::formats
