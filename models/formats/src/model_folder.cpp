#include "dragoman/formats/model_folder.h"

#include "dragoman/formats/checksums.h"
#include "folder_replacement.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
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

bool is_plain_name(const std::string& name, std::string_view marks) {
  const auto allowed = [marks](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || marks.find(c) != marks.npos;
  };
  return name.size() <= 100 && std::all_of(name.begin(), name.end(), allowed);
}

/// A plugin is looked up as a file in a folder of plugins: its name must not be a path.
std::string read_plugin_name(core::OptionReader& options) {
  std::string name = options.get("plugin", "");
  options.check(is_plain_name(name, "_-"), "plugin", "must be the plain name of a plugin: letters, digits, _ and -");
  return name;
}

StoredTokenizer read_stored_tokenizer(core::OptionReader options) {
  StoredTokenizer stored;
  stored.kind.type = options.require_key<std::string>("type");
  options.check(!stored.kind.type.empty() && is_plain_name(stored.kind.type, "_-."), "type",
                "must be the name of a registered kind: letters, digits, _, - and .");
  stored.plugin = read_plugin_name(options);
  if (options.has("options")) stored.kind.options = options.subtree("options");
  options.check(stored.kind.options.is_object(), "options", "must hold keys and values");
  options.finish();
  return stored;
}

StoredTokenizers read_stored_tokenizers(core::OptionReader options) {
  if (!options.has("source") && !options.has("target")) {
    const StoredTokenizer joint = read_stored_tokenizer(std::move(options));
    return {joint, joint, true};
  }
  StoredTokenizers stored{read_stored_tokenizer(options.child("source")),
                          read_stored_tokenizer(options.child("target")), false};
  options.finish();
  return stored;
}

Json to_json(const StoredTokenizer& stored) {
  Json json{{"type", stored.kind.type}};
  if (!stored.plugin.empty()) json["plugin"] = stored.plugin;
  if (!stored.kind.options.empty()) json["options"] = stored.kind.options;
  return json;
}

Json to_json(const StoredTokenizers& stored) {
  if (stored.joint) return to_json(stored.source);
  return {{"source", to_json(stored.source)}, {"target", to_json(stored.target)}};
}

/// Of a model folder, which may come from anywhere: a pipe in it might never end.
std::unique_ptr<Tokenizer> load_native_tokenizer(const Path& file) {
  std::error_code ignored;
  const auto type = std::filesystem::status(file, ignored).type();
  using Type = std::filesystem::file_type;
  core::require(type == Type::regular || type == Type::not_found || type == Type::none, ErrorCode::kIo,
                "{}: is not a regular file but a pipe, a device or a folder; put a file there", file.string());
  return tokenizer::load_tokenizer(file);
}

/// A tokenizer and its file in a model folder.
struct OpenedTokenizer {
  Path file;
  std::shared_ptr<const Tokenizer> tokenizer;
};

/// The place where config.json says how a tokenizer is read.
std::string place_of(TokenizerSide side, const Path& folder) {
  const char* const key = side == TokenizerSide::kJoint    ? "tokenizer"
                          : side == TokenizerSide::kSource ? "tokenizer: source"
                                                           : "tokenizer: target";
  return fmt::format("{}: {}", (folder / ModelFiles::kConfig).string(), key);
}

std::shared_ptr<const Tokenizer> open_named_tokenizer(const StoredTokenizer& stored, const Path& file,
                                                      const TokenizerOpener& opener, const std::string& where) {
  std::error_code ignored;
  core::require(std::filesystem::exists(file, ignored), ErrorCode::kIo,
                "{}: is missing, the tokenizer of the type '{}' that {} names; get the whole folder", file.string(),
                stored.kind.type, where);
  return opener(stored, {file, core::read_regular_file(file, tokenizer::TokenizerFile::kLargest)}, where);
}

OpenedTokenizer open_tokenizer(const Path& folder, TokenizerSide side, const ModelConfig& config,
                               const TokenizerOpener& opener) {
  if (!config.tokenizers) {
    const Path file = folder / tokenizer_file_name(side, {});
    return {file, load_native_tokenizer(file)};
  }
  const StoredTokenizer& stored =
      side == TokenizerSide::kTarget ? config.tokenizers->target : config.tokenizers->source;
  const Path file = folder / tokenizer_file_name(side, stored);
  return {file, open_named_tokenizer(stored, file, opener, place_of(side, folder))};
}

bool names_joint_tokenizer(const Path& folder, const ModelConfig& config) {
  if (config.tokenizers) return config.tokenizers->joint;
  // Whatever it is: without those of both sides it is the one that is missed.
  std::error_code ignored;
  return std::filesystem::symlink_status(folder / ModelFiles::kTokenizer, ignored).type() !=
             std::filesystem::file_type::not_found ||
         !std::filesystem::exists(folder / ModelFiles::kSourceTokenizer, ignored);
}

/// One side of the translation, for messages and checks.
struct Side {
  const char* name;
  OpenedTokenizer opened;
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

/// Of what was not opened nothing is known.
void check_side(const Side& side, const nn::SequenceSpec& spec, const Path& config) {
  if (side.tokenizer() == nullptr) return;
  core::require(side.tokenizer()->size() == side.vocabulary, ErrorCode::kBadInput,
                "{}: sequences.{}_vocabulary is {}, but {} has {} pieces; model and tokenizer do not belong together",
                config.string(), side.name, side.vocabulary, side.file(), side.tokenizer()->size());
  require_special(side, "end", spec.end, config);
  require_unknown(side, spec.unknown, config);
}

void write_tokenizer(const TokenizerContent& tokenizer, TokenizerSide side, const Path& folder) {
  const Path file = folder / tokenizer_file_name(side, tokenizer.stored);
  core::require(!tokenizer.stored.is_native() ||
                    tokenizer::recognise(file, tokenizer.content) == tokenizer::FileKind::kTokenizerJson,
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

/// What config.json has to say of the tokenizers.
std::optional<StoredTokenizers> tokenizers_to_name(const ModelFolderContent& content) {
  const bool joint = !content.tokenizer.empty();
  const StoredTokenizer& source = (joint ? content.tokenizer : content.source_tokenizer).stored;
  const StoredTokenizer& target = (joint ? content.tokenizer : content.target_tokenizer).stored;
  if (source.is_native() && target.is_native()) return std::nullopt;
  return StoredTokenizers{source, target, joint};
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

const char* tokenizer_file_name(TokenizerSide side, const StoredTokenizer& tokenizer) noexcept {
  const bool json = tokenizer.kind.type == StoredTokenizer::kNative;
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

std::unique_ptr<Tokenizer> open_built_in_tokenizer(const StoredTokenizer& stored, const tokenizer::TokenizerFile& file,
                                                   const std::string& where) {
  for (const tokenizer::FileKind kind : tokenizer::registered_kinds()) {
    if (tokenizer::name_of(kind) != stored.kind.type) continue;
    core::OptionReader options(stored.kind.options, where + ": options");
    std::unique_ptr<Tokenizer> made = tokenizer::make_tokenizer(kind, file, options);
    options.finish();
    return made;
  }
  return nullptr;
}

ModelConfig read_model_config(const Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  const int version = options.require_key<int>("format_version");
  core::require(version >= 1 && version <= ModelConfig::kFormatVersion, ErrorCode::kBadInput,
                "{}: format_version is {}; this program reads versions 1 to {}", where, version,
                ModelConfig::kFormatVersion);
  ModelConfig config;
  config.model_type = options.require_key<std::string>("model_type");
  options.check(!config.model_type.empty(), "model_type", "is empty");
  config.plugin = read_plugin_name(options);
  if (version >= 2 && options.has("tokenizer")) config.tokenizers = read_stored_tokenizers(options.child("tokenizer"));
  config.sequences = nn::read_sequence_spec(options.subtree("sequences"), where + ": sequences");
  if (const Json& model = options.subtree("model"); !model.is_null()) config.model = model;
  options.check(config.model.is_object(), "model", "must hold keys and values");
  if (version >= 2) {
    const auto compute = tensor::find_compute_choice(options.get("compute", std::string(name_of(config.compute))));
    options.check(compute.has_value(), "compute", "must be " + tensor::list_compute_choices());
    config.compute = *compute;
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
  const bool fp32 = config.compute == tensor::ComputeChoice::kF32;
  const int version = !config.languages.empty() ? 3 : config.tokenizers || !fp32 || !config.decoding.empty() ? 2 : 1;
  Json json{{"format_version", version}, {"model_type", config.model_type}};
  if (!config.plugin.empty()) json["plugin"] = config.plugin;
  if (config.tokenizers) json["tokenizer"] = to_json(*config.tokenizers);
  json["sequences"] = nn::to_json(config.sequences);
  json["model"] = config.model;
  if (!fp32) json["compute"] = name_of(config.compute);
  if (!config.decoding.empty()) json["decoding"] = config.decoding;
  if (!config.languages.empty()) json["languages"] = to_json(config.languages);
  return json;
}

ModelConfig load_model_config(const Path& folder) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;
  std::error_code ignored;
  core::require(std::filesystem::exists(folder, ignored), ErrorCode::kIo,
                "{}: there is no such folder; a model is a folder with config.json", folder.string());
  core::require(std::filesystem::is_directory(folder, ignored), ErrorCode::kIo,
                "{}: is not a folder; a model is a folder with config.json", folder.string());
  const Path file = folder / ModelFiles::kConfig;
  core::require(std::filesystem::exists(file, ignored) || !std::filesystem::exists(folder / "run.json", ignored),
                ErrorCode::kBadInput, "{}: is a training run; its models are the folders best and last in it",
                folder.string());
  core::require(
      std::filesystem::exists(file, ignored) || !std::filesystem::exists(folder / "state.json", ignored),
      ErrorCode::kBadInput,
      "{}: is a checkpoint of a training run, to go on from; its models are the folders best and last of the run",
      folder.string());
  return read_model_config(core::parse_json(core::read_regular_file(file, kLargest), file.string()), file.string());
}

ModelFolder ModelFolder::open(const Path& folder_path, const TokenizerOpener& opener) {
  ModelFolder folder;
  folder.path_ = folder_path;
  const Path config_path = folder_path / ModelFiles::kConfig;
  folder.config_ = load_model_config(folder_path);
  const nn::SequenceSpec& spec = folder.config_.sequences;
  std::error_code ignored;
  core::require(!folder.config_.decoding.contains(decoding::kShortlistKey) ||
                    std::filesystem::is_regular_file(folder_path / ModelFiles::kShortlist, ignored),
                ErrorCode::kBadInput, "{}: decoding names {}, which the folder lacks; bring it, or take the key out",
                config_path.string(), ModelFiles::kShortlist);
  folder.joint_ = names_joint_tokenizer(folder_path, folder.config_);
  const auto open_side = [&](TokenizerSide side) { return open_tokenizer(folder_path, side, folder.config_, opener); };
  const Side source{"source", open_side(folder.joint_ ? TokenizerSide::kJoint : TokenizerSide::kSource),
                    spec.source_vocabulary};
  const Side target{"target", folder.joint_ ? source.opened : open_side(TokenizerSide::kTarget),
                    spec.target_vocabulary};
  check_side(source, spec, config_path);
  check_side(target, spec, config_path);
  if (target.tokenizer() != nullptr) require_special(target, "begin", spec.begin, config_path);
  folder.source_ = source.opened.tokenizer;
  folder.target_ = target.opened.tokenizer;
  return folder;
}

void ModelFolder::load_weights(nn::Seq2SeqModel& model, const LoadOptions& options) const {
  const Json configuration = to_json(config_);
  load_parameters(weights_path(), model.parameters(), options, &configuration);
}

namespace {

/// Folders of transformers have files of the same names, and never a format_version. One that cannot be read may be
/// ours: who opens it says what is wrong.
bool is_config_of_transformers(const Path& file) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;
  try {
    const Json config = core::try_parse_json(core::read_regular_file(file, kLargest)).tree;
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
  ModelFolder::open(folder, content.opener);  // What it would refuse must not be written.
  const nn::ParameterStore& parameters = content.model->parameters();
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
  write_checksums(folder);
  replacement.commit();
}

namespace {

void copy_model_file(const Path& from, const Path& to) {
  core::require(std::filesystem::is_regular_file(from), ErrorCode::kIo, "{}: is not a regular file; put a file there",
                from.string());
  core::InputFile input(from);
  core::OutputFile output(to);
  std::vector<char> block(std::size_t{1} << 20);
  for (std::size_t got = 0; (got = input.read(block)) > 0;) output.write({block.data(), got});
  output.commit();
}

/// A copy with another configuration, and with another shortlist unless that is empty.
void write_changed_copy(const Path& source, const Path& output, const ModelConfig& config, std::string_view shortlist,
                        const TokenizerOpener& opener) {
  core::require_not_in_the_way(source, output);
  verify_checksums_if_there(source);
  FolderReplacement replacement(output);
  const Path& folder = replacement.folder();
  for (const std::string_view name : ModelFiles::kAll) {
    if (name == ModelFiles::kConfig || name == ModelFiles::kSums || name == ModelFiles::kCard) continue;
    if (name == ModelFiles::kShortlist && !(shortlist.empty() && config.decoding.contains(decoding::kShortlistKey)))
      continue;
    if (std::error_code ignored; std::filesystem::exists(source / name, ignored))
      copy_model_file(source / name, folder / name);
  }
  if (!shortlist.empty()) core::write_file(folder / ModelFiles::kShortlist, shortlist);
  core::write_file(folder / ModelFiles::kCard, card_of(source));
  core::write_file(folder / ModelFiles::kConfig, to_json(config).dump(2) + "\n");
  ModelFolder::open(folder, opener);  // What it would refuse must not be written.
  write_checksums(folder);
  replacement.commit();
}

}  // namespace

FolderTokenizers read_tokenizers(const Path& folder, const ModelConfig& config) {
  std::error_code ignored;
  const StoredTokenizers stored = config.tokenizers.value_or(StoredTokenizers{
      .source = {}, .target = {}, .joint = std::filesystem::exists(folder / ModelFiles::kTokenizer, ignored)});
  const auto content = [&](TokenizerSide side, const StoredTokenizer& tokenizer) {
    return TokenizerContent{core::read_regular_file(folder / tokenizer_file_name(side, tokenizer)), tokenizer};
  };
  if (stored.joint) return {.joint = content(TokenizerSide::kJoint, stored.source)};
  return {.source = content(TokenizerSide::kSource, stored.source),
          .target = content(TokenizerSide::kTarget, stored.target)};
}

std::string shortlist_of(const Path& folder, const ModelConfig& config) {
  if (!config.decoding.contains(decoding::kShortlistKey)) return {};
  return core::read_regular_file(folder / ModelFiles::kShortlist);
}

FolderState::FolderState(Path folder) : folder_(std::move(folder)), content_(read()) {}

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
