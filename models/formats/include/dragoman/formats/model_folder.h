#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/formats/parameters.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::formats {

/// Names of the files of a model folder.
struct ModelFiles {
  static constexpr const char* kConfig = "config.json";
  static constexpr const char* kWeights = "model.safetensors";
  /// Of both languages; or one for each.
  static constexpr const char* kTokenizer = "tokenizer.json";
  static constexpr const char* kSourceTokenizer = "source.tokenizer.json";
  static constexpr const char* kTargetTokenizer = "target.tokenizer.json";
  static constexpr const char* kCard = "README.md";
  static constexpr const char* kSums = "SHA256SUMS";

  static constexpr std::array kTokenizers{kTokenizer, kSourceTokenizer, kTargetTokenizer};
  /// What a translation depends on.
  static constexpr std::array kTranslating{kConfig, kWeights, kTokenizer, kSourceTokenizer, kTargetTokenizer};
  /// Every file that the folder may hold.
  static constexpr std::array kAll{kConfig, kWeights, kTokenizer, kSourceTokenizer, kTargetTokenizer, kCard, kSums};
};

/// The content of a model folder's config.json.
struct ModelConfig {
  /// 2: may say `compute`. What can be written as an older version is.
  static constexpr int kFormatVersion = 2;

  std::string model_type;  ///< the name under which a factory is registered: "transformer", ...
  std::string plugin;      ///< name of the plugin that brings the factory; empty for what is built in
  nn::SequenceSpec sequences;
  core::Json model = core::Json::object();  ///< the model's own part, which its factory checks
  /// What the weights are multiplied in unless somebody asks for something else.
  tensor::Compute compute = tensor::Compute::kF32;
};

/// Throws Error{kBadInput} naming `where` and the key. A newer format_version is refused, older ones are read.
ModelConfig read_model_config(const core::Json& json, const std::string& where);
core::Json to_json(const ModelConfig& config);

/// A model on disk, opened: configuration and tokenizers are read and checked against each other, weights are not
/// touched. Building the model is the business of whoever knows the factories: look up config().model_type, give it
/// config(), then load_weights(). Immutable: any thread may use it.
class ModelFolder {
 public:
  /// Throws Error{kIo, kBadInput or kUnsupported} naming the file at fault.
  static ModelFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept { return path_; }
  const ModelConfig& config() const noexcept { return config_; }
  /// The same object for both if the folder holds one joint tokenizer. Shared, since pipelines outlive the folder
  /// object.
  const std::shared_ptr<const tokenizer::Tokenizer>& source_tokenizer() const noexcept { return source_; }
  const std::shared_ptr<const tokenizer::Tokenizer>& target_tokenizer() const noexcept { return target_; }
  bool has_joint_tokenizer() const noexcept { return source_ == target_; }
  std::filesystem::path weights_path() const { return path_ / ModelFiles::kWeights; }

  /// As load_parameters(), mapped by default, since that is what translation wants; training asks for kOwned.
  void load_weights(nn::Seq2SeqModel& model, const LoadOptions& options = {.memory = WeightMemory::kMapped}) const;

 private:
  std::filesystem::path path_;
  ModelConfig config_;
  std::shared_ptr<const tokenizer::Tokenizer> source_;
  std::shared_ptr<const tokenizer::Tokenizer> target_;
};

/// Whether `path` looks like a model folder: it holds config.json and model.safetensors.
bool is_model_folder(const std::filesystem::path& path);

/// What write_model_folder() puts in the folder.
struct ModelFolderContent {
  std::string model_type{};
  std::string plugin{};
  const nn::Seq2SeqModel* model = nullptr;  ///< gives the weights, `sequences` and `model` of config.json
  /// Texts of tokenizer.json: the joint one, or both of the others. Not paths, so that what the model was trained with
  /// is written, whatever has become of the file.
  std::string tokenizer_json{};
  std::string source_tokenizer_json{};
  std::string target_tokenizer_json{};
  std::string card{};                         ///< README.md: data, licence, recipe, scores with signatures
  tensor::DType dtype = tensor::DType::kF32;  ///< as for save_parameters()
  tensor::Compute compute = tensor::Compute::kF32;
  Metadata metadata{};  ///< of model.safetensors
};

/// Throws Error{kInvalidArgument} unless write_model_folder() may take the place of `path`: it must not exist, or be an
/// empty folder or a model folder, and so must `<path>.partial`. Nothing foreign is ever deleted.
void require_replaceable(const std::filesystem::path& path);

/// Writes a model folder with its SHA256SUMS. It is made, locked and checked under the name `<path>.partial` and then
/// takes the place of `path` as core::StagedFolder does: a killed process leaves the old folder or the new one, and a
/// second one with the same `path` is refused (Error{kIo}). Throws as require_replaceable() does, and
/// Error{kInvalidArgument} for a tokenizer that is not a tokenizer.json.
void write_model_folder(const std::filesystem::path& path, const ModelFolderContent& content);

}  // namespace dragoman::formats
