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

/// The names of the files of a model folder.
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
  /// The files that affect translations.
  static constexpr std::array kTranslating{kConfig,
                                           kWeights,
                                           kTokenizer,
                                           kSourceTokenizer,
                                           kTargetTokenizer,
                                           kOtherTokenizer,
                                           kOtherSourceTokenizer,
                                           kOtherTargetTokenizer,
                                           kShortlist};
  /// All files that the folder may contain.
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

/// Returns the text of the folder's README.md, or an empty string if there is none. The text is copied into models
/// derived from this one. A symbolic link counts as none, because it may lead to any file, whose text would be
/// published with the new model. The limit is 1 MiB. Throws Error{kIo}.
std::string card_of(const std::filesystem::path& folder);

/// The side to which a tokenizer's file or entry in config.json belongs.
enum class TokenizerSide : std::uint8_t { kJoint, kSource, kTarget };

/// Returns the name of the tokenizer's file in a model folder: "tokenizer.json", "source.tokenizer.model", ...
const char* tokenizer_file_name(TokenizerSide side, const tokenizer::TokenizerSpec& tokenizer) noexcept;

/// Reads the configuration of a model folder, and no other file. Throws Error{kIo or kBadInput} that names the file.
ModelConfig load_model_config(const std::filesystem::path& folder);

/// An open model folder.
///
///     ModelFolder folder = ModelFolder::open("models/de-en");
///     folder.config().model_type;                               // "transformer": look up its factory
///     folder.source_tokenizer()->encode("Guten Morgen!");
///
/// The configuration and, if requested, the tokenizers have been read and checked against each other. Weights are not
/// read. Code that has the factories builds the model: it looks up config().model_type, passes config() to the factory,
/// and then calls load().
///
/// The folder may be replaced while it is open: files that are read later then come from the new folder. FolderState
/// detects this. Threads and errors are as for OpenedModel.
class ModelFolder final : public OpenedModel {
 public:
  /// Opens a folder with its tokenizers. Throws Error{kIo, kBadInput or kUnsupported} that names the faulty file, and
  /// the errors of `opener`.
  static ModelFolder open(const std::filesystem::path& path, const TokenizerOpener& opener = open_built_in_tokenizer);
  /// Opens a folder without its tokenizers. Both are null until open_tokenizers() is called, which validates them.
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

  /// Return the source and the target tokenizer, which are the same object if the folder has one joint tokenizer. They
  /// are null if the tokenizers were not opened, or if the opener returned nullptr.
  const std::shared_ptr<const tokenizer::Tokenizer>& source_tokenizer() const noexcept { return opened_.source; }
  const std::shared_ptr<const tokenizer::Tokenizer>& target_tokenizer() const noexcept { return opened_.target; }
  bool has_joint_tokenizer() const noexcept { return joint_; }
  std::filesystem::path weights_path() const { return path_ / ModelFiles::kWeights; }

 private:
  /// Loads the values with load_parameters(); maps the file if the options request it.
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
  const nn::Seq2SeqModel* model = nullptr;  ///< provides the weights, and `sequences` and `model` of config.json
  /// The joint tokenizer, or both others, with the content of their files. The tokenizer with which the model was
  /// trained is written, even if its file has changed since then.
  tokenizer::TokenizerSpec tokenizer{};
  tokenizer::TokenizerSpec source_tokenizer{};
  tokenizer::TokenizerSpec target_tokenizer{};
  std::string card{};  ///< README.md: data, licence, recipe, scores with signatures
  /// If set, the values come from here, and the model has none; see save_streamed_parameters(). All are written as F32.
  ParameterSource values{};
  std::string values_from{};  ///< the name of their source in messages
  tensor::DType dtype = tensor::DType::kF32;
  /// The type to which weights and tables are rounded, if any; see save_rounded_parameters(). Other parameters are then
  /// F32.
  std::optional<tensor::DType> rounded{};
  std::optional<tensor::ComputeChoice> compute{};  ///< ModelConfig::compute
  core::Json decoding = core::Json::object();      ///< ModelConfig::decoding
  std::string shortlist{};                         ///< the content of the file, if the decoding defaults name it
  LanguageTable languages{};                       ///< ModelConfig::languages
  Metadata metadata{};                             ///< for model.safetensors
  /// Returns the content of reference.json for the written folder, which still lacks that file and the sums. If the
  /// result is empty, no reference.json is written.
  std::function<std::string(const std::filesystem::path& folder)> reference{};
  /// Opens the tokenizers once, to check that they fit the model.
  TokenizerOpener opener = open_built_in_tokenizer;
};

/// Throws Error{kInvalidArgument} unless write_model_folder() may replace `path`. It must not exist, or must be an
/// empty folder or a model folder. The same holds for `<path>.partial`. Files of other programs are never deleted.
void require_replaceable(const std::filesystem::path& path);

/// Writes a model folder with its SHA256SUMS. The folder is created, locked and validated as `<path>.partial` and then
/// replaces `path` as in core::StagedFolder: a killed process leaves either the old folder or the new one. Concurrent
/// writers of one `path` get Error{kIo}.
///
/// Throws like require_replaceable(), and Error{kInvalidArgument} for a tokenizer that is not a tokenizer.json and does
/// not name another kind.
///
///     void save(const nn::Seq2SeqModel& model, const tokenizer::TokenizerSpec& tokenizer) {
///       write_model_folder("models/de-en", {.model_type = "transformer", .model = &model, .tokenizer = tokenizer});
///     }
void write_model_folder(const std::filesystem::path& path, const ModelFolderContent& content);

/// A snapshot of a folder's configuration and sums, for commands that take long between reading and writing a folder.
class FolderState {
 public:
  explicit FolderState(std::filesystem::path folder);
  /// Throws Error{kIo} if the configuration or the sums have changed, because changes of another process would be lost.
  void require_unchanged() const;

 private:
  std::string read() const;

  std::filesystem::path folder_;
  std::string content_;
};

/// Writes `output`, a copy of the model folder with `shortlist` as its own shortlist, as write_model_folder() does.
/// `output` may be the folder itself.
void write_shortlist(const std::filesystem::path& folder, const std::filesystem::path& output,
                     std::string_view shortlist, const TokenizerOpener& opener = open_built_in_tokenizer);

/// Writes `output`, a copy of the model folder with `decoding` as ModelConfig::decoding, as write_model_folder() does.
/// `output` may be the folder itself. It has checksums if the folder has them. Throws Error{kBadInput} for settings
/// that read_model_defaults() rejects.
void write_decoding_defaults(const std::filesystem::path& folder, const std::filesystem::path& output,
                             const core::Json& decoding, const TokenizerOpener& opener = open_built_in_tokenizer);

}  // namespace dragoman::formats
