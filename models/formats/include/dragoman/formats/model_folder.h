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
#include <dragoman/formats/parameters.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_kind.h>

namespace dragoman::formats {

/// Names of the files of a model folder.
struct ModelFiles {
  static constexpr const char* kConfig = "config.json";
  static constexpr const char* kWeights = "model.safetensors";
  /// Of both languages; or one for each.
  static constexpr const char* kTokenizer = "tokenizer.json";
  static constexpr const char* kSourceTokenizer = "source.tokenizer.json";
  static constexpr const char* kTargetTokenizer = "target.tokenizer.json";
  /// The same of tokenizers of another kind, which config.json names.
  static constexpr const char* kOtherTokenizer = "tokenizer.model";
  static constexpr const char* kOtherSourceTokenizer = "source.tokenizer.model";
  static constexpr const char* kOtherTargetTokenizer = "target.tokenizer.model";
  /// Of a model whose decoding defaults name it.
  static constexpr const char* kShortlist = decoding::kShortlistFile;
  /// Of an imported model: what it was then, see ModelReference.
  static constexpr const char* kReference = "reference.json";
  static constexpr const char* kCard = "README.md";
  static constexpr const char* kSums = "SHA256SUMS";

  static constexpr std::array kTokenizers{kTokenizer,      kSourceTokenizer,      kTargetTokenizer,
                                          kOtherTokenizer, kOtherSourceTokenizer, kOtherTargetTokenizer};
  /// What a translation depends on.
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

/// The text of the folder's README.md, for what is made of the model; empty if there is none. A link counts as none: it
/// may point to anything, whose text would be given away with the new model. At most 1 MiB; Error{kIo}.
std::string card_of(const std::filesystem::path& folder);

/// How a tokenizer of a model folder is read.
struct StoredTokenizer {
  static constexpr const char* kNative = "tokenizer-json";

  /// The name of a registered kind, and its options.
  tokenizer::TokenizerKind kind{.type = kNative};
  std::string plugin{};  ///< name of the plugin that brings the kind; empty for what is built in
  bool is_native() const { return kind.type == kNative && kind.options.empty(); }
  bool operator==(const StoredTokenizer&) const = default;
};

/// Which side's tokenizer a file or an entry of config.json is of.
enum class TokenizerSide : std::uint8_t { kJoint, kSource, kTarget };

/// Its name in a model folder: "tokenizer.json", "source.tokenizer.model", ...
const char* tokenizer_file_name(TokenizerSide side, const StoredTokenizer& tokenizer) noexcept;

/// The tokenizers of a model folder, where not all of them are a plain tokenizer.json.
struct StoredTokenizers {
  StoredTokenizer source;
  StoredTokenizer target;  ///< of a joint one: the same
  bool joint = true;
  bool operator==(const StoredTokenizers&) const = default;
};

/// Makes a tokenizer that config.json names; `where` names the place there, for messages. nullptr: this is not the time
/// to make one of that kind, and it is not checked.
using TokenizerOpener = std::function<std::unique_ptr<tokenizer::Tokenizer>(
    const StoredTokenizer& tokenizer, const tokenizer::TokenizerFile& file, const std::string& where)>;

/// Makes those of built-in kinds, whatever their plugin is said to be; nullptr for others.
std::unique_ptr<tokenizer::Tokenizer> open_built_in_tokenizer(const StoredTokenizer& tokenizer,
                                                              const tokenizer::TokenizerFile& file,
                                                              const std::string& where);

/// The content of a model folder's config.json.
struct ModelConfig {
  /// 2: may say `compute`, `tokenizer` and `decoding`; 3: `languages`. What can be written as an older version is.
  static constexpr int kFormatVersion = 3;

  std::string model_type;  ///< the name under which a factory is registered: "transformer", ...
  std::string plugin;      ///< name of the plugin that brings the factory; empty for what is built in
  nn::SequenceSpec sequences;
  core::Json model = core::Json::object();  ///< the model's own part, which its factory checks
  /// Nothing: the tokenizers are tokenizer.json files.
  std::optional<StoredTokenizers> tokenizers{};
  /// What the weights are multiplied in unless somebody asks for something else.
  tensor::ComputeChoice compute = tensor::ComputeChoice::kF32;
  /// How the model is best searched, as decoding::read_model_defaults() takes it.
  core::Json decoding = core::Json::object();
  /// What stands around the tokens of sentences.
  LanguageTable languages{};
};

/// Throws Error{kBadInput} naming `where` and the key. A newer format_version is refused, older ones are read.
ModelConfig read_model_config(const core::Json& json, const std::string& where);
core::Json to_json(const ModelConfig& config);
/// That of a folder; no other file is looked at. Error{kIo or kBadInput} naming the file.
ModelConfig load_model_config(const std::filesystem::path& folder);

/// A model on disk, opened: configuration and tokenizers are read and checked against each other, weights are not
/// touched. Building the model is the business of whoever knows the factories: look up config().model_type, give it
/// config(), then load_weights(). Immutable: any thread may use it.
class ModelFolder {
 public:
  /// Throws Error{kIo, kBadInput or kUnsupported} naming the file at fault, and what `opener` throws.
  static ModelFolder open(const std::filesystem::path& path, const TokenizerOpener& opener = open_built_in_tokenizer);

  const std::filesystem::path& path() const noexcept { return path_; }
  const ModelConfig& config() const noexcept { return config_; }
  /// The same object for both if the folder holds one joint tokenizer; null what the opener did not make. Shared, since
  /// pipelines outlive the folder object.
  const std::shared_ptr<const tokenizer::Tokenizer>& source_tokenizer() const noexcept { return source_; }
  const std::shared_ptr<const tokenizer::Tokenizer>& target_tokenizer() const noexcept { return target_; }
  bool has_joint_tokenizer() const noexcept { return joint_; }
  std::filesystem::path weights_path() const { return path_ / ModelFiles::kWeights; }

  /// As load_parameters(), mapped by default, since that is what translation wants; training asks for kOwned.
  void load_weights(nn::Seq2SeqModel& model, const LoadOptions& options = {.memory = WeightMemory::kMapped}) const;

 private:
  std::filesystem::path path_;
  ModelConfig config_;
  bool joint_ = true;
  std::shared_ptr<const tokenizer::Tokenizer> source_;
  std::shared_ptr<const tokenizer::Tokenizer> target_;
};

/// Whether `path` looks like a model folder: it holds config.json and model.safetensors, and config.json is not that of
/// transformers, whose folders do, too.
bool is_model_folder(const std::filesystem::path& path);

/// A tokenizer as write_model_folder() takes it: the content of its file, and how that is read. Not a path, so that
/// what the model was trained with is written, whatever has become of the file.
struct TokenizerContent {
  std::string content{};
  StoredTokenizer stored{};
  bool empty() const noexcept { return content.empty(); }
};

/// The tokenizers of a model folder as they stand there: the joint one, or both of the others.
struct FolderTokenizers {
  TokenizerContent joint{};
  TokenizerContent source{};
  TokenizerContent target{};
};
/// Error{kIo}.
FolderTokenizers read_tokenizers(const std::filesystem::path& folder, const ModelConfig& config);

/// What write_model_folder() puts in the folder.
struct ModelFolderContent {
  std::string model_type{};
  std::string plugin{};
  const nn::Seq2SeqModel* model = nullptr;  ///< gives the weights, `sequences` and `model` of config.json
  /// The joint one, or both of the others.
  TokenizerContent tokenizer{};
  TokenizerContent source_tokenizer{};
  TokenizerContent target_tokenizer{};
  std::string card{};  ///< README.md: data, licence, recipe, scores with signatures
  /// If given, the model has no values of its own: see save_streamed_parameters(). All as F32.
  ParameterSource values{};
  std::string values_from{};  ///< what messages call their source
  tensor::DType dtype = tensor::DType::kF32;
  /// Of weights and tables, if they are to be rounded: see save_rounded_parameters(). Then the rest is F32.
  std::optional<tensor::DType> rounded{};
  tensor::ComputeChoice compute = tensor::ComputeChoice::kF32;
  core::Json decoding = core::Json::object();  ///< ModelConfig::decoding
  std::string shortlist{};                     ///< content of the file, if the decoding defaults name it
  LanguageTable languages{};                   ///< ModelConfig::languages
  Metadata metadata{};                         ///< of model.safetensors
  /// Makes the content of reference.json, none if it is empty, of the folder that is written but for it and its sums.
  std::function<std::string(const std::filesystem::path& folder)> reference{};
  /// Opens the tokenizers once, to see that they belong to the model.
  TokenizerOpener opener = open_built_in_tokenizer;
};

/// Throws Error{kInvalidArgument} unless write_model_folder() may take the place of `path`: it must not exist, or be an
/// empty folder or a model folder, and so must `<path>.partial`. Nothing foreign is ever deleted.
void require_replaceable(const std::filesystem::path& path);

/// Writes a model folder with its SHA256SUMS. It is made, locked and checked under the name `<path>.partial` and then
/// takes the place of `path` as core::StagedFolder does: a killed process leaves the old folder or the new one, and a
/// second one with the same `path` is refused (Error{kIo}). Throws as require_replaceable() does, and
/// Error{kInvalidArgument} for a tokenizer that is not a tokenizer.json and names no other kind.
void write_model_folder(const std::filesystem::path& path, const ModelFolderContent& content);

/// The content of a folder's own shortlist; empty if config.json names none. Error{kIo}.
std::string shortlist_of(const std::filesystem::path& folder, const ModelConfig& config);

/// What a folder held when it was read: for commands that take long and then write it anew.
class FolderState {
 public:
  explicit FolderState(std::filesystem::path folder);
  /// Error{kIo} if configuration or sums are others now: what somebody else wrote meanwhile would be lost.
  void require_unchanged() const;

 private:
  std::string read() const;

  std::filesystem::path folder_;
  std::string content_;
};

/// Writes `output`, a copy of the model folder with this as its own shortlist; `output` may be the folder itself. As
/// write_model_folder() does it.
void write_shortlist(const std::filesystem::path& folder, const std::filesystem::path& output,
                     std::string_view shortlist, const TokenizerOpener& opener = open_built_in_tokenizer);

/// Writes `output`, a copy of the model folder with these as ModelConfig::decoding; `output` may be the folder itself.
/// As write_model_folder() does it. Error{kBadInput} for what read_model_defaults() does not take.
void write_decoding_defaults(const std::filesystem::path& folder, const std::filesystem::path& output,
                             const core::Json& decoding, const TokenizerOpener& opener = open_built_in_tokenizer);

}  // namespace dragoman::formats
