#include "dragoman/formats/model_folder.h"

#include "dragoman/formats/checksums.h"
#include "folder_replacement.h"
#include "models_within.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::Json;
using core::quote;
using Path = std::filesystem::path;
using tokenizer::Tokenizer;

/// Reads the tokenizer.json of a model folder. The folder may come from anywhere, and a pipe in it might never end.
std::unique_ptr<Tokenizer> load_native_tokenizer(const Path& file) {
  std::error_code ignored;
  const auto type = std::filesystem::status(file, ignored).type();
  using Type = std::filesystem::file_type;
  core::require(type == Type::regular || type == Type::not_found || type == Type::none, ErrorCode::kIo,
                "{}: is not a regular file but a pipe, a device or a folder; put a file there", file.string());
  return tokenizer::load_tokenizer(file);
}

/// A tokenizer and its file in a model folder.
struct TokenizerOfFile {
  Path file;
  std::shared_ptr<const Tokenizer> tokenizer;
};

/// Returns the place in config.json that specifies how a tokenizer is read.
std::string place_of(TokenizerSide side, const Path& folder) {
  const char* const key = side == TokenizerSide::kJoint    ? "tokenizer"
                          : side == TokenizerSide::kSource ? "tokenizer: source"
                                                           : "tokenizer: target";
  return fmt::format("{}: {}", (folder / ModelFiles::kConfig).string(), key);
}

std::shared_ptr<const Tokenizer> open_named_tokenizer(const tokenizer::TokenizerSpec& stored, const Path& file,
                                                      const TokenizerOpener& opener, const std::string& where) {
  std::error_code ignored;
  core::require(std::filesystem::exists(file, ignored), ErrorCode::kIo,
                "{}: is missing, the tokenizer of the type {} that {} names; get the whole folder", file.string(),
                core::quote(stored.kind()), where);
  return opener(stored, {file, core::read_regular_file(file, tokenizer::TokenizerFile::kLargest)}, where);
}

TokenizerOfFile open_tokenizer(const Path& folder, TokenizerSide side, const ModelConfig& config,
                               const TokenizerOpener& opener) {
  if (!config.tokenizers) {
    const Path file = folder / tokenizer_file_name(side, {});
    return {file, load_native_tokenizer(file)};
  }
  const tokenizer::TokenizerSpec& stored =
      side == TokenizerSide::kTarget ? config.tokenizers->target : config.tokenizers->source;
  const Path file = folder / tokenizer_file_name(side, stored);
  return {file, open_named_tokenizer(stored, file, opener, place_of(side, folder))};
}

bool names_joint_tokenizer(const Path& folder, const ModelConfig& config) {
  if (config.tokenizers) return config.tokenizers->joint;
  // Any type of file counts. If the tokenizers of both sides are missing too, the error names the joint one.
  std::error_code ignored;
  return std::filesystem::symlink_status(folder / ModelFiles::kTokenizer, ignored).type() !=
             std::filesystem::file_type::not_found ||
         !std::filesystem::exists(folder / ModelFiles::kSourceTokenizer, ignored);
}

/// One side of the translation, for messages and checks.
struct Side {
  const char* name;
  TokenizerOfFile opened;
  std::int64_t vocabulary;

  const Tokenizer* tokenizer() const { return opened.tokenizer.get(); }
  std::string file() const { return opened.file.string(); }
};

void require_special(const Side& side, const char* key, std::int32_t id, const Path& config) {
  core::require(side.tokenizer()->is_special(id), ErrorCode::kBadInput,
                "{}: sequences.{} is {}, but that is the piece {} of {}, which is not a special token", config.string(),
                key, id, quote(side.tokenizer()->piece(id)), side.file());
}

void require_unknown(const Side& side, std::int32_t id, const Path& config) {
  const auto* bpe = dynamic_cast<const tokenizer::BpeTokenizer*>(side.tokenizer());
  if (bpe == nullptr || !bpe->definition().unknown) return require_special(side, "unknown", id, config);
  core::require(*bpe->definition().unknown == id, ErrorCode::kBadInput,
                "{}: sequences.unknown is {}, but the unknown token of {} is {}", config.string(), id, side.file(),
                *bpe->definition().unknown);
}

/// Checks a side's tokenizer if it was opened.
void check_side(const Side& side, const nn::SequenceSpec& spec, const Path& config) {
  if (side.tokenizer() == nullptr) return;
  core::require(side.tokenizer()->size() == side.vocabulary, ErrorCode::kBadInput,
                "{}: sequences.{}_vocabulary is {}, but {} has {} pieces; model and tokenizer do not belong together",
                config.string(), side.name, side.vocabulary, side.file(), side.tokenizer()->size());
  require_special(side, "end", spec.end, config);
  require_unknown(side, spec.unknown, config);
}

void write_tokenizer(const tokenizer::TokenizerSpec& tokenizer, TokenizerSide side, const Path& folder) {
  const Path file = folder / tokenizer_file_name(side, tokenizer);
  core::require(
      !tokenizer.is_native() || tokenizer::recognise(file, tokenizer.content) == tokenizer::FileKind::kTokenizerJson,
      ErrorCode::kInvalidArgument,
      "{}: the tokenizer that is to be written there is not the text of a tokenizer.json; convert it first",
      file.string());
  core::write_file(file, tokenizer.content);
}

void write_tokenizers(const ModelFolderContent& content, const Path& folder) {
  const bool joint = !content.tokenizer.empty();
  const bool separate = !content.source_tokenizer.empty() && !content.target_tokenizer.empty();
  core::require(
      joint != separate && (separate || (content.source_tokenizer.empty() && content.target_tokenizer.empty())),
      ErrorCode::kInvalidArgument, "{}: a model needs either one joint tokenizer or one for each side",
      folder.string());
  if (joint) {
    write_tokenizer(content.tokenizer, TokenizerSide::kJoint, folder);
  } else {
    write_tokenizer(content.source_tokenizer, TokenizerSide::kSource, folder);
    write_tokenizer(content.target_tokenizer, TokenizerSide::kTarget, folder);
  }
}

/// Returns the entries of config.json that the tokenizers require, if any.
std::optional<StoredTokenizers> tokenizers_to_name(const ModelFolderContent& content) {
  const bool joint = !content.tokenizer.empty();
  const tokenizer::TokenizerSpec& source = joint ? content.tokenizer : content.source_tokenizer;
  const tokenizer::TokenizerSpec& target = joint ? content.tokenizer : content.target_tokenizer;
  if (source.is_native() && target.is_native()) return std::nullopt;
  return StoredTokenizers{source.without_content(), target.without_content(), joint};
}

/// Throws an error with the reason why a folder has no config.json, if it is known.
void explain_missing_config(const Path& folder) {
  std::error_code ignored;
  const std::string models = describe_models_within(folder, is_model_folder);
  core::require(models.empty(), ErrorCode::kBadInput, "{}", models);
  core::require(!std::filesystem::exists(folder / "run.json", ignored), ErrorCode::kBadInput,
                "{}: is a training run that has no model yet; its models will be the folders best and last in it",
                folder.string());
  core::require(!std::filesystem::exists(folder / "state.json", ignored), ErrorCode::kBadInput,
                "{}: is a checkpoint of a training run and no model; the models of the run are the folders best and "
                "last in it, and `dragoman average` makes a model of checkpoints",
                folder.string());
  core::require(!std::filesystem::is_directory(folder, ignored), ErrorCode::kBadInput,
                "{}: this folder has no config.json, so it is no model folder; a model folder has config.json, "
                "model.safetensors and its tokenizers",
                folder.string());
}

}  // namespace

std::string card_of(const std::filesystem::path& folder) {
  constexpr std::uint64_t kLargestCard = std::uint64_t{1} << 20;
  const std::filesystem::path card = folder / ModelFiles::kCard;
  std::error_code ignored;
  const auto type = std::filesystem::symlink_status(card, ignored).type();
  const bool there = type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::symlink;
  return there ? core::read_regular_file(card, kLargestCard) : std::string();
}

const char* tokenizer_file_name(TokenizerSide side, const tokenizer::TokenizerSpec& tokenizer) noexcept {
  const bool json = tokenizer.kind() == tokenizer::TokenizerSpec::kNative;
  switch (side) {
    case TokenizerSide::kJoint:
      return json ? ModelFiles::kTokenizer : ModelFiles::kOtherTokenizer;
    case TokenizerSide::kSource:
      return json ? ModelFiles::kSourceTokenizer : ModelFiles::kOtherSourceTokenizer;
    case TokenizerSide::kTarget:
      return json ? ModelFiles::kTargetTokenizer : ModelFiles::kOtherTargetTokenizer;
  }
  return "";
}

ModelConfig load_model_config(const Path& folder) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;
  std::error_code ignored;
  core::require(std::filesystem::exists(folder, ignored), ErrorCode::kIo,
                "{}: there is no such folder; a model is a folder with config.json", folder.string());
  core::require(
      std::filesystem::is_directory(folder, ignored), ErrorCode::kIo,
      "{}: is not a folder; a model is a folder with config.json, which `dragoman convert` makes of models of other "
      "toolkits",
      folder.string());
  const Path file = folder / ModelFiles::kConfig;
  if (!std::filesystem::exists(file, ignored)) explain_missing_config(folder);
  return read_model_config(core::parse_json(core::read_regular_file(file, kLargest), file.string()), file.string());
}

ModelFolder::ModelFolder(Path path) : path_(std::move(path)), config_(load_model_config(path_)) {
  std::error_code ignored;
  core::require(!config_.decoding.contains(decoding::kShortlistKey) ||
                    std::filesystem::is_regular_file(path_ / ModelFiles::kShortlist, ignored),
                ErrorCode::kBadInput, "{}: decoding names {}, which the folder lacks; bring it, or take the key out",
                (path_ / ModelFiles::kConfig).string(), ModelFiles::kShortlist);
  joint_ = names_joint_tokenizer(path_, config_);
}

ModelFolder ModelFolder::open(const Path& path, const TokenizerOpener& opener) {
  ModelFolder folder(path);
  folder.opened_ = folder.open_tokenizers(opener);
  return folder;
}

OpenedTokenizers ModelFolder::open_tokenizers(const TokenizerOpener& opener) const {
  const Path config = path_ / ModelFiles::kConfig;
  const nn::SequenceSpec& spec = config_.sequences;
  const auto open_side = [&](TokenizerSide side) { return open_tokenizer(path_, side, config_, opener); };
  const Side source{"source", open_side(joint_ ? TokenizerSide::kJoint : TokenizerSide::kSource),
                    spec.source_vocabulary};
  const Side target{"target", joint_ ? source.opened : open_side(TokenizerSide::kTarget), spec.target_vocabulary};
  check_side(source, spec, config);
  check_side(target, spec, config);
  if (target.tokenizer() != nullptr) require_special(target, "begin", spec.begin, config);
  return {source.opened.tokenizer, target.opened.tokenizer};
}

ModelTokenizers ModelFolder::tokenizers() const {
  const StoredTokenizers stored = config_.tokenizers.value_or(StoredTokenizers{});
  const auto content = [&](TokenizerSide side, const tokenizer::TokenizerSpec& spec) {
    return spec.with_content(core::read_regular_file(path_ / tokenizer_file_name(side, spec)));
  };
  if (joint_) return {.joint = content(TokenizerSide::kJoint, stored.source)};
  return {.source = content(TokenizerSide::kSource, stored.source),
          .target = content(TokenizerSide::kTarget, stored.target)};
}

std::string ModelFolder::shortlist() const {
  if (!config_.decoding.contains(decoding::kShortlistKey)) return {};
  return core::read_regular_file(path_ / ModelFiles::kShortlist);
}

void ModelFolder::check(const nn::ParameterStore& parameters) const {
  const Json configuration = to_json(config_);
  check_parameters(SafetensorsFile::open(weights_path()), parameters, &configuration);
}

void ModelFolder::read(const nn::Parameter& parameter, const tensor::Tensor& out) {
  if (!weights_) weights_ = SafetensorsFile::open(weights_path());
  read_parameter(*weights_, parameter, out);
}

void ModelFolder::load_values(nn::Seq2SeqModel& model, const LoadOptions& options) {
  const Json configuration = to_json(config_);
  load_parameters(weights_path(), model.parameters(), options, &configuration);
}

namespace {

/// Folders of Hugging Face Transformers have files with these names, but never a format_version. A file that cannot be
/// read may be Dragoman's: opening it reports the error.
bool is_config_of_transformers(const Path& file) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;
  try {
    const Json config =
        core::try_parse_json(core::read_regular_file(file, kLargest), core::EqualKeys::kLastCounts).tree;
    return config.is_object() && config.contains("model_type") && !config.contains("format_version") &&
           !config.contains("sequences");
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace

bool is_model_folder(const Path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / ModelFiles::kConfig, ignored) &&
         std::filesystem::is_regular_file(folder / ModelFiles::kWeights, ignored) &&
         !is_config_of_transformers(folder / ModelFiles::kConfig);
}

void write_model_folder(const Path& target, const ModelFolderContent& content) {
  core::require(content.model != nullptr, ErrorCode::kInvalidArgument, "{}: there is no model to write",
                target.string());
  FolderReplacement replacement(target);
  const Path& folder = replacement.folder();
  const ModelConfig config{content.model_type,          content.plugin,  content.model->spec(), content.model->config(),
                           tokenizers_to_name(content), content.compute, content.decoding,      content.languages};
  core::write_file(folder / ModelFiles::kConfig, to_json(config).dump(2) + "\n");
  write_tokenizers(content, folder);
  if (!content.shortlist.empty()) core::write_file(folder / ModelFiles::kShortlist, content.shortlist);
  core::write_file(folder / ModelFiles::kCard, content.card);
  ModelFolder::open(folder, content.opener);  // a folder that it rejects must not be written
  const nn::ParameterStore& parameters = content.model->parameters();
  // This comes before gigabytes are written. Streamed weights are checked when they are written.
  if (!content.values) parameters.require_finite(target.string());
  if (content.values)
    save_streamed_parameters(folder / ModelFiles::kWeights, parameters, content.values, content.values_from,
                             content.metadata);
  else if (content.rounded)
    save_rounded_parameters(folder / ModelFiles::kWeights, parameters, *content.rounded, content.metadata);
  else
    save_parameters(folder / ModelFiles::kWeights, parameters, content.dtype, content.metadata);
  if (content.reference)
    if (const std::string reference = content.reference(folder); !reference.empty())
      core::write_file(folder / ModelFiles::kReference, reference);
  replacement.commit(content.values ? content.values_from : target.string());
}

namespace {

/// Writes a copy with another configuration and, unless it is empty, another shortlist.
void write_changed_copy(const Path& source, const Path& output, const ModelConfig& config, std::string_view shortlist,
                        const TokenizerOpener& opener) {
  core::require_no_temporary_name(source, output);
  verify_checksums_if_there(source);
  FolderReplacement replacement(output);
  const Path& folder = replacement.folder();
  for (const std::string_view name : ModelFiles::kAll) {
    if (name == ModelFiles::kConfig || name == ModelFiles::kSums || name == ModelFiles::kCard) continue;
    if (name == ModelFiles::kShortlist && !(shortlist.empty() && config.decoding.contains(decoding::kShortlistKey)))
      continue;
    if (std::error_code ignored; std::filesystem::exists(source / name, ignored)) replacement.add_copy(source / name);
  }
  if (!shortlist.empty()) core::write_file(folder / ModelFiles::kShortlist, shortlist);
  core::write_file(folder / ModelFiles::kCard, card_of(source));
  core::write_file(folder / ModelFiles::kConfig, to_json(config).dump(2) + "\n");
  ModelFolder::open(folder, opener);  // a folder that it rejects must not be written
  // New sums would certify weights that nobody has checked.
  std::error_code ignored;
  const bool has_sums = std::filesystem::exists(source / ModelFiles::kSums, ignored);
  replacement.commit((source / ModelFiles::kWeights).string(), has_sums ? FolderSums::kWritten : FolderSums::kNone);
}

}  // namespace

FolderState::FolderState(Path folder) : folder_(std::move(folder)) {
  load_model_config(folder_);  // throws with the reason if there is none
  content_ = read();
}

void FolderState::require_unchanged() const {
  core::require(read() == content_, core::ErrorCode::kIo,
                "{} has changed since it was read; nothing was written: run the command again", folder_.string());
}

std::string FolderState::read() const {
  std::string content = core::read_regular_file(folder_ / ModelFiles::kConfig);
  const Path sums = folder_ / ModelFiles::kSums;
  if (std::error_code ignored; std::filesystem::exists(sums, ignored)) content += core::read_regular_file(sums);
  return content;
}

void write_shortlist(const Path& source, const Path& output, std::string_view shortlist,
                     const TokenizerOpener& opener) {
  ModelConfig config = load_model_config(source);
  config.decoding[decoding::kShortlistKey] = decoding::kShortlistFile;
  write_changed_copy(source, output, config, shortlist, opener);
}

void write_decoding_defaults(const Path& source, const Path& output, const Json& decoding,
                             const TokenizerOpener& opener) {
  ModelConfig config = load_model_config(source);
  decoding::read_model_defaults(decoding, (source / ModelFiles::kConfig).string() + ": decoding");
  config.decoding = decoding;
  write_changed_copy(source, output, config, {}, opener);
}

}  // namespace dragoman::formats
