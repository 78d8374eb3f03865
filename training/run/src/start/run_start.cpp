#include "start/run_start.h"

#include "configuration/config_tables.h"
#include "configuration/parameter_patterns.h"

#include <algorithm>
#include <array>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Json;
using formats::TokenizerSide;

constexpr std::array<std::pair<const char*, std::int32_t nn::SequenceSpec::*>, 4> kSpecialTokens = {
    {{"begin", &nn::SequenceSpec::begin},
     {"end", &nn::SequenceSpec::end},
     {"unknown", &nn::SequenceSpec::unknown},
     {"decoder_start", &nn::SequenceSpec::decoder_start}}};

/// Returns the folder's description of its model as keys of a configuration.
Json keys_of(const formats::ModelConfig& config) {
  Json keys{{"type", config.model_type},
            {"maximum_source_length", config.sequences.maximum_source_length},
            {"maximum_target_length", config.sequences.maximum_target_length},
            {"decoder_start", config.sequences.decoder_start == config.sequences.end ? "end" : "begin"}};
  keys.update(config.model);
  return keys;
}

TokenizerPairConfig tokenizers_of(const fs::path& folder, const formats::ModelConfig& config) {
  const formats::StoredTokenizers stored = config.tokenizers.value_or(formats::StoredTokenizers{});
  std::error_code ignored;
  const bool joint = config.tokenizers ? stored.joint : fs::exists(folder / formats::ModelFiles::kTokenizer, ignored);
  const auto side = [&](TokenizerSide which, const tokenizer::TokenizerSpec& spec) {
    const char* name = formats::tokenizer_file_name(joint ? TokenizerSide::kJoint : which, spec);
    // Named even if it is a tokenizer.json, so that it is exported unchanged.
    return tokenizer::TokenizerSpec{
        .type = std::string(spec.kind()), .options = spec.options, .file = (folder / name).string()};
  };
  return {side(TokenizerSide::kSource, stored.source),
          side(TokenizerSide::kTarget, joint ? stored.source : stored.target)};
}

/// Returns the index in `before` of each piece of `now`, or -1.
std::vector<std::int64_t> numbers_before(const tokenizer::Tokenizer& now, const tokenizer::Tokenizer& before) {
  std::vector<std::int64_t> numbers;
  for (std::int32_t id = 0; id < now.size(); ++id) {
    const std::optional<std::int32_t> found = before.id(now.piece(id));
    numbers.push_back(found ? *found : -1);
  }
  return numbers;
}

bool are_the_same(const std::vector<std::int64_t>& numbers, std::int64_t size_before) {
  if (static_cast<std::int64_t>(numbers.size()) != size_before) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// A parameter that has a row (a vector: an element) per piece.
struct PerPiece {
  const tensor::HostView& to;
  const tensor::HostView& from;
  bool rows;

  void copy(std::int64_t piece, std::int64_t before) const {
    const tensor::Tensor& target = to.tensor();
    const tensor::Tensor& source = from.tensor();
    const std::int64_t count = rows ? target.cols : 1;
    for (std::int64_t i = 0; i < count; ++i)
      tensor::set_element(target, rows ? piece : 0, rows ? i : piece,
                          tensor::element(source, rows ? before : 0, rows ? i : before));
  }
};

/// Returns, for a message, the number of pieces whose rows come from a model with another vocabulary. nullptr: none are
/// taken.
std::string describe_carried(const std::vector<std::int64_t>* source, std::int64_t source_size,
                             const std::vector<std::int64_t>* target, std::int64_t target_size) {
  const auto side = [](const std::vector<std::int64_t>* numbers, std::int64_t size, const char* name) {
    const auto is_known = [](std::int64_t number) { return number >= 0; };
    return fmt::format("{} of {} {} pieces", numbers == nullptr ? 0 : std::ranges::count_if(*numbers, is_known), size,
                       name);
  };
  return fmt::format("{} and {} are carried over; the others keep their initial values",
                     side(source, source_size, "source"), side(target, target_size, "target"));
}

}  // namespace

std::optional<StartingModel> StartingModel::find(TrainingConfig& config, const Json& record,
                                                 const TrainerEnvironment& environment) {
  if (config.model.from.empty()) return std::nullopt;
  StartingModel start(config.model.from, environment);
  const std::string where = "training configuration";
  if (!record.is_null()) {
    start.go_on(record);
    const TrainingConfig before = read_training_config(record["configuration"], "run.json: configuration");
    start.require_vocabulary(config.data, before.data);
    complete(config, before.model.options, {before.data.source_tokenizer, before.data.target_tokenizer}, where);
    return start;
  }
  try {
    // The error names the folders in it that are models.
    std::error_code ignored;
    if (fs::is_directory(start.path_, ignored) && !fs::exists(start.path_ / formats::ModelFiles::kConfig, ignored))
      formats::load_model_config(start.path_);
  } catch (const core::Error& error) {
    core::fail(error.code(), "model.from: {}", error.what());
  }
  core::require(formats::is_model_folder(start.path_), ErrorCode::kBadInput,
                "model.from: {} is no model folder (config.json and model.safetensors); other toolkits' models are "
                "brought into that form by `dragoman convert`",
                start.path_.string());
  const formats::ModelConfig folder = formats::load_model_config(start.path_);
  start.languages_ = folder.languages;
  start.require_vocabulary(config.data, {});
  // The folder's own tokens may have other ids in another tokenizer.
  if (config.data.source_tokenizer.file.empty()) start.decoding_ = folder.decoding;
  start.decoding_.erase(decoding::kShortlistKey);
  complete(config, keys_of(folder), tokenizers_of(start.path_, folder), where);
  start.matching_ = config.model.from_matching;
  return start;
}

void StartingModel::go_on(const Json& record) {
  const auto holds_object = [](const Json& json, const char* key) {
    return json.contains(key) && json[key].is_object();
  };
  const bool whole = holds_object(record, "configuration") && holds_object(record, "start") &&
                     holds_object(record["start"], "sequences") && holds_object(record["start"], "special_tokens") &&
                     holds_object(record["start"], "decoding") && holds_object(record["configuration"], "model") &&
                     record["configuration"]["model"].contains("from");
  core::require(whole, ErrorCode::kBadInput,
                "model.from: the run to be continued did not begin with a model folder; leave it out, or train in "
                "another folder");
  recorded_ = record["start"];
  // A continued run uses its own folder; the origin of the model is unchanged.
  const fs::path origin = recorded_.value("folder", std::string());
  if (origin != path_)
    core::log(environment_->log, core::LogLevel::kWarning,
              fmt::format("model.from: the run began with {}; {} is not looked at", origin.string(), path_.string()));
  path_ = origin;
  decoding_ = recorded_["decoding"];
  if (recorded_.contains("languages"))
    languages_ = formats::read_language_table(
        recorded_["languages"], nn::read_sequence_spec(recorded_["sequences"], "run.json: start: sequences"),
        "run.json: start: languages");
  recorded_sum_ = record["data"].value("starting_model", std::string());
}

/// Requires the tokenizer of the model, or of the run that is continued.
void StartingModel::require_vocabulary(const DataConfig& config, const DataConfig& before) const {
  const bool same = config.source_tokenizer.file.empty() || (config.source_tokenizer == before.source_tokenizer &&
                                                             config.target_tokenizer == before.target_tokenizer);
  core::require(languages_.empty() || same, ErrorCode::kUnsupported,
                "data.tokenizer: {} puts tokens around sentences (config.json, languages), which have other numbers in "
                "another vocabulary; leave data.tokenizer out",
                path_.string());
}

formats::SequenceTags StartingModel::tags(const DataConfig& config) const {
  try {
    return languages_.tags(config.source_language, config.target_language);
  } catch (const core::Error& error) {
    core::fail(ErrorCode::kBadInput, "data.source_language and data.target_language, with {}: {}", path_.string(),
               error.what());
  }
}

std::string StartingModel::sum() const {
  return recorded_.is_null() ? formats::sha256_of_file(path_ / formats::ModelFiles::kWeights) : recorded_sum_;
}

formats::ModelFolder StartingModel::open() const {
  return formats::ModelFolder::open(path_, [this](const tokenizer::TokenizerSpec& spec,
                                                  const tokenizer::TokenizerFile& file, const std::string& where) {
    return environment_->make_tokenizer ? environment_->make_tokenizer(spec, file)
                                        : formats::open_built_in_tokenizer(spec, file, where);
  });
}

StartingModel::SpecialTokens StartingModel::special_tokens() const {
  if (!recorded_.is_null()) {
    const std::string where = "run.json: start";
    SpecialTokens tokens{nn::read_sequence_spec(recorded_["sequences"], where), {}};
    core::OptionReader pieces(recorded_["special_tokens"], where);
    for (const auto& [key, id] : kSpecialTokens) tokens.pieces[key] = pieces.require_key<std::string>(key);
    return tokens;
  }
  const formats::ModelFolder folder = open();
  SpecialTokens tokens{folder.config().sequences, {}};
  for (const auto& [key, id] : kSpecialTokens)
    tokens.pieces[key] = folder.target_tokenizer()->piece(tokens.sequences.*id);
  return tokens;
}

nn::SequenceSpec StartingModel::spec(const TrainingConfig& config, const RunTokenizers& tokenizers) const {
  const tokenizer::Tokenizer& source = *tokenizers.source.tokenizer;
  const tokenizer::Tokenizer& target = *tokenizers.target.tokenizer;
  const SpecialTokens tokens = special_tokens();
  nn::SequenceSpec spec = tokens.sequences;
  for (const auto& [key, id] : kSpecialTokens) {
    const std::string& piece = tokens.pieces.at(key);
    if (spec.*id < target.size() && target.piece(spec.*id) == piece) continue;
    const std::optional<std::int32_t> now = target.id(piece);
    core::require(now.has_value(), ErrorCode::kBadInput,
                  "{}: has no token {}, which is sequences.{} of {}; extend that model's own vocabulary with "
                  "`dragoman vocab extend`, or name another",
                  config.data.target_tokenizer.file, core::Quoted{piece}, key, path_.string());
    spec.*id = *now;
  }
  for (const std::int32_t id : {spec.end, spec.unknown})
    core::require(id < source.size() && source.piece(id) == target.piece(id), ErrorCode::kBadInput,
                  "{}: the special token {} has not the number {} that it has in {}; special tokens need equal ids "
                  "on both sides",
                  config.data.source_tokenizer.file, core::Quoted{target.piece(id)}, id,
                  config.data.target_tokenizer.file);
  spec.source_vocabulary = source.size();
  spec.target_vocabulary = target.size();
  spec.maximum_source_length = config.model.maximum_source_length;
  spec.maximum_target_length = config.model.maximum_target_length;
  // The folder's decoder may begin with a third token, which the configuration calls `begin`.
  if (config.model.decoder_start == DecoderStart::kEnd)
    spec.decoder_start = spec.end;
  else if (spec.decoder_start == spec.end)
    spec.decoder_start = spec.begin;
  return spec;
}

void StartingModel::load(nn::Seq2SeqModel& model, const RunTokenizers& tokenizers) const {
  formats::ModelFolder folder = open();
  const auto unchanged = [](const RunTokenizer& now, const std::shared_ptr<const tokenizer::Tokenizer>& before) {
    return are_the_same(numbers_before(*now.tokenizer, *before), before->size());
  };
  if (matching_ || !unchanged(tokenizers.source, folder.source_tokenizer()) ||
      !unchanged(tokenizers.target, folder.target_tokenizer()))
    return carry_over(folder, model, tokenizers);
  const Json configuration{{"sequences", nn::to_json(model.spec())}, {"model", model.config()}};
  formats::refill_parameters(folder.weights_path(), model.parameters(), &configuration);
  core::log(environment_->log, core::LogLevel::kInfo, fmt::format("begins with the model {}", path_.string()));
}

void StartingModel::carry_over(formats::ModelFolder& folder, nn::Seq2SeqModel& model,
                               const RunTokenizers& tokenizers) const {
  const formats::ModelConfig& config = folder.config();
  const auto before = environment_->make_model(config.model_type, config.sequences, config.model);
  folder.load(*before, {});
  const std::vector<std::int64_t> source = numbers_before(*tokenizers.source.tokenizer, *folder.source_tokenizer());
  const std::vector<std::int64_t> target = numbers_before(*tokenizers.target.tokenizer, *folder.target_tokenizer());
  const nn::EmbeddingTables tables = before->embedding_tables();
  const std::vector<std::int64_t>* carried_source = nullptr;
  const std::vector<std::int64_t>* carried_target = nullptr;
  std::size_t taken = 0;
  for (nn::Parameter& parameter : model.parameters().all()) {
    const nn::Parameter* const from = before->parameters().find(parameter.name);
    if (from == nullptr && matching_) continue;
    core::require(from != nullptr, ErrorCode::kBadInput, "model.from: {} has no parameter {}", path_.string(),
                  core::Quoted{parameter.name});
    const bool of_source = from == tables.source && from != tables.target;
    const std::vector<std::int64_t>& numbers = of_source ? source : target;
    const std::int64_t pieces = of_source ? config.sequences.source_vocabulary : config.sequences.target_vocabulary;
    const auto view = tensor::HostView::of(model.parameters().memory(), parameter.value);
    const auto old = tensor::HostView::of(before->parameters().memory(), from->value);
    const bool is_vector = from->rank == 1;
    // By its role: other parameters may have the size of the vocabulary by coincidence.
    const bool per_piece = from == tables.source || from == tables.target ||
                           (is_output(parameter.name) && (is_vector ? from->cols : from->rows) == pieces);
    const bool same_width = is_vector || from->cols == parameter.cols;
    const bool same_shape = from->rows == parameter.rows && from->cols == parameter.cols;
    const bool fits = same_width && (per_piece || same_shape);
    if (!fits && matching_) continue;
    core::require(fits, ErrorCode::kBadInput,
                  "model.from: the parameter {} is [{}, {}] in {}, but [{}, {}] by this configuration",
                  core::Quoted{parameter.name}, from->rows, from->cols, path_.string(), parameter.rows, parameter.cols);
    const PerPiece pair{view, old, !is_vector};
    if (per_piece) {
      core::require((is_vector ? parameter.cols : parameter.rows) == static_cast<std::int64_t>(numbers.size()),
                    ErrorCode::kBadInput, "model.from: the parameter {} does not grow with the vocabulary",
                    core::Quoted{parameter.name});
      for (std::size_t piece = 0; piece < numbers.size(); ++piece)
        if (numbers[piece] >= 0) pair.copy(static_cast<std::int64_t>(piece), numbers[piece]);
      if (from == tables.source) carried_source = &numbers;
      if (!of_source) carried_target = &numbers;
    } else {
      for (std::int64_t row = 0; row < parameter.rows; ++row)
        for (std::int64_t col = 0; col < parameter.cols; ++col)
          tensor::set_element(view.tensor(), row, col, tensor::element(old.tensor(), row, col));
    }
    view.store();
    ++taken;
  }
  model.parameters().values_changed();
  core::require(taken > 0, ErrorCode::kBadInput,
                "model.from_matching: no parameter has the name and shape that it has in {}; leave out model.from",
                path_.string());
  if (matching_)
    core::log(environment_->log, core::LogLevel::kInfo,
              fmt::format("begins with {} of {} parameters from the model {}; the others keep their initial values",
                          taken, model.parameters().all().size(), path_.string()));
  if (are_the_same(source, folder.source_tokenizer()->size()) &&
      are_the_same(target, folder.target_tokenizer()->size()))
    return;
  core::log(environment_->log, core::LogLevel::kInfo,
            fmt::format("begins with the model {}, with another vocabulary: {}", path_.string(),
                        describe_carried(carried_source, tokenizers.source.tokenizer->size(), carried_target,
                                         tokenizers.target.tokenizer->size())));
}

Json StartingModel::account(const nn::SequenceSpec& spec, const RunTokenizers& tokenizers) const {
  Json pieces = Json::object();
  for (const auto& [key, id] : kSpecialTokens) pieces[key] = tokenizers.target.tokenizer->piece(spec.*id);
  Json account = {{"folder", path_.string()},
                  {"sequences", nn::to_json(spec)},
                  {"special_tokens", std::move(pieces)},
                  {"decoding", decoding_}};
  if (!languages_.empty()) account["languages"] = formats::to_json(languages_);
  return account;
}

}  // namespace dragoman::training
