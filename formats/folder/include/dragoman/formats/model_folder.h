#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/core/json.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/formats/languages.h>
#include <dragoman/formats/model_config.h>
#include <dragoman/formats/opened_model.h>
#include <dragoman/formats/parameters.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>

namespace dragoman::formats {

/// Names of the files of a model folder.
struct ModelFiles {
  static constexpr const char* kConfig = "config.json";
  static constexpr const char* kWeights = "model.safetensors";
  /// A tokenizer.json for both languages, or one for each language.
  static constexpr const char* kTokenizer = "tokenizer.json";
  static constexpr const char* kSourceTokenizer = "source.tokenizer.json";
  static constexpr const char* kTargetTokenizer = "target.tokenizer.json";
  /// The tokenizers of other kinds, which config.json names: one for both languages, or one for each language.
  static constexpr const char* kOtherTokenizer = "tokenizer.model";
  static constexpr const char* kOtherSourceTokenizer = "source.tokenizer.model";
  static constexpr const char* kOtherTargetTokenizer = "target.tokenizer.model";
  /// The model's own shortlist, present if its decoding defaults name it.
  static constexpr const char* kShortlist = decoding::kShortlistFile;
  /// The fingerprints and results of an imported model at its import, see ModelReference.
  static constexpr const char* kReference = "reference.json";
  static constexpr const char* kCard = "README.md";
  static constexpr const char* kSums = "SHA256SUMS";

  static constexpr std::array kTokenizers{kTokenizer,      kSourceTokenizer,      kTargetTokenizer,
                                          kOtherTokenizer, kOtherSourceTokenizer, kOtherTargetTokenizer};
  /// The files that a translation depends on.
  static constexpr std::array kTranslating{kConfig,
                                           kWeights,
                                           kTokenizer,
                                           kSourceTokenizer,
                                           kTargetTokenizer,
                                           kOtherTokenizer,
                                           kOtherSourceTokenizer,
                                           kOtherTargetTokenizer,
                                           kShortlist};
  /// Every file that the folder may hold.
  static constexpr std::array kAll{kConfig,
                                   kWeights,
                                   kTokenizer,
                                   kSourceTokenizer,
                                   kTargetTokenizer,
                                   kOtherTokenizer,
                                   kOtherSourceTokenizer,
                                   kOtherTargetTokenizer,
                                   kShortlist,
                                   kReference,
                                   kCard,
                                   kSums};
};

/// Returns the text of the folder's README.md, which is copied into models that are derived from this one; empty if
/// there is none. A symbolic link counts as none: it may point to any file, whose text would be published with the new
/// model. At most 1 MiB; Error{kIo}.
std::string card_of(const std::filesystem::path& folder);

/// The side to which a tokenizer's file or entry in config.json belongs.
enum class TokenizerSide : std::uint8_t { kJoint, kSource, kTarget };

/// Returns the name of the tokenizer's file in a model folder: "tokenizer.json", "source.tokenizer.model", ...
const char* tokenizer_file_name(TokenizerSide side, const tokenizer::TokenizerSpec& tokenizer) noexcept;

/// Reads the configuration of a model folder, and no other file of it. Error{kIo or kBadInput} naming the file.
ModelConfig load_model_config(const std::filesystem::path& folder);

/// An open model folder. Its configuration and, if requested, its tokenizers have been read and checked against each
/// other. Weights are not read. Building the model is the task of code that knows the factories: look up
/// config().model_type, pass it config(), then call load().
class ModelFolder final : public OpenedModel {
 public:
  /// Opens a folder with its tokenizers. Throws Error{kIo, kBadInput or kUnsupported} naming the file at fault, and the
  /// errors of `opener`.
  static ModelFolder open(const std::filesystem::path& path, const TokenizerOpener& opener = open_built_in_tokenizer);
  /// Opens a folder without its tokenizers: both are null until open_tokenizers() is called, which checks them.
  explicit ModelFolder(std::filesystem::path path);

  const std::filesystem::path& path() const noexcept override { return path_; }
  const ModelConfig& config() const noexcept override { return config_; }
  bool is_model_folder() const noexcept override { return true; }
  ModelTokenizers tokenizers() const override;
  OpenedTokenizers open_tokenizers(const TokenizerOpener& opener) const override;
  std::string card() const override { return card_of(path_); }
  std::string shortlist() const override;
  void check(const nn::ParameterStore& parameters) const override;
  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override;
  void finish() override {}

  /// Both return the same object if the folder holds one joint tokenizer. They return nullptr if the tokenizers were
  /// not opened, or if the opener returned nullptr.
  const std::shared_ptr<const tokenizer::Tokenizer>& source_tokenizer() const noexcept { return opened_.source; }
  const std::shared_ptr<const tokenizer::Tokenizer>& target_tokenizer() const noexcept { return opened_.target; }
  bool has_joint_tokenizer() const noexcept { return joint_; }
  std::filesystem::path weights_path() const { return path_ / ModelFiles::kWeights; }

 private:
  /// Loads values with load_parameters(): mapped if the options request it.
  void load_values(nn::Seq2SeqModel& model, const LoadOptions& options) override;

  std::filesystem::path path_;
  ModelConfig config_;
  bool joint_ = true;
  OpenedTokenizers opened_;
  std::optional<SafetensorsFile> weights_;  ///< opened by the first read()
};

/// Returns whether `path` looks like a model folder: it contains config.json and model.safetensors, and config.json is
/// not one of Hugging Face Transformers, whose folders have files of the same names.
bool is_model_folder(const std::filesystem::path& path);

/// The content that write_model_folder() writes.
struct ModelFolderContent {
  std::string model_type{};
  std::string plugin{};
  const nn::Seq2SeqModel* model = nullptr;  ///< gives the weights, `sequences` and `model` of config.json
  /// The joint tokenizer, or both of the others. They hold the content of their files: the tokenizer that the model was
  /// trained with is written, even if the file has changed since.
  tokenizer::TokenizerSpec tokenizer{};
  tokenizer::TokenizerSpec source_tokenizer{};
  tokenizer::TokenizerSpec target_tokenizer{};
  std::string card{};  ///< README.md: data, licence, recipe, scores with signatures
  /// If set, the values come from here and the model has none: see save_streamed_parameters(). All are written as F32.
  ParameterSource values{};
  std::string values_from{};  ///< what messages call their source
  tensor::DType dtype = tensor::DType::kF32;
  /// The type to which weights and tables are rounded, if any: see save_rounded_parameters(). The rest is then F32.
  std::optional<tensor::DType> rounded{};
  tensor::ComputeChoice compute = tensor::ComputeChoice::kF32;
  core::Json decoding = core::Json::object();  ///< ModelConfig::decoding
  std::string shortlist{};                     ///< content of the file, if the decoding defaults name it
  LanguageTable languages{};                   ///< ModelConfig::languages
  Metadata metadata{};                         ///< of model.safetensors
  /// Makes the content of reference.json from the written folder, which still lacks that file and the sums. If the
  /// result is empty, there is no reference.json.
  std::function<std::string(const std::filesystem::path& folder)> reference{};
  /// Opens the tokenizers once, to check that they fit the model.
  TokenizerOpener opener = open_built_in_tokenizer;
};

/// Throws Error{kInvalidArgument} unless write_model_folder() may replace `path`: it must not exist, or must be an
/// empty folder or a model folder. This also holds for `<path>.partial`. Files of other programs are never deleted.
void require_replaceable(const std::filesystem::path& path);

/// Writes a model folder with its SHA256SUMS. It is made, locked and checked under the name `<path>.partial` and then
/// takes the place of `path` as core::StagedFolder does: a killed process leaves the old folder or the new one, and a
/// second one with the same `path` is refused (Error{kIo}). Throws as require_replaceable() does, and
/// Error{kInvalidArgument} for a tokenizer that is not a tokenizer.json and names no other kind.
void write_model_folder(const std::filesystem::path& path, const ModelFolderContent& content);

/// A snapshot of a folder's configuration and sums, for commands that run for long between reading a folder and writing
/// it.
class FolderState {
 public:
  explicit FolderState(std::filesystem::path folder);
  /// Throws Error{kIo} if the configuration or the sums have changed: the changes of another process would be lost.
  void require_unchanged() const;

 private:
  std::string read() const;

  std::filesystem::path folder_;
  std::string content_;
};

/// Writes `output`, a copy of the model folder whose own shortlist is `shortlist`; `output` may be the folder itself.
/// The copy is written as by write_model_folder().
void write_shortlist(const std::filesystem::path& folder, const std::filesystem::path& output,
                     std::string_view shortlist, const TokenizerOpener& opener = open_built_in_tokenizer);

/// Writes `output`, a copy of the model folder with `decoding` as ModelConfig::decoding; `output` may be the folder
/// itself. The copy is written as by write_model_folder(). Error{kBadInput} for settings that read_model_defaults()
/// refuses.
void write_decoding_defaults(const std::filesystem::path& folder, const std::filesystem::path& output,
                             const core::Json& decoding, const TokenizerOpener& opener = open_built_in_tokenizer);

}  // namespace dragoman::formats
