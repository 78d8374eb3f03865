#include "start/run_setup.h"

#include "configuration/parameter_patterns.h"
#include "dragoman/training/option_table.h"
#include "start/run_embeddings.h"
#include "start/run_start.h"

#include <algorithm>

#include <dragoman/core/append_member.h>
#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/format_version.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/unknown_key.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/training/run_files.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;
using core::Json;

constexpr std::uint64_t kLargestRecord = std::uint64_t{16} << 20;

std::int32_t special_id(const RunTokenizer& run_tokenizer, const std::string& piece, const std::string& file,
                        std::string_view key) {
  const tokenizer::Tokenizer& tokenizer = *run_tokenizer.tokenizer;
  const std::optional<std::int32_t> id = tokenizer.id(piece);
  core::require(id.has_value(), ErrorCode::kBadInput,
                "{}: has no token {}, which data.special_tokens.{} names; learn the vocabulary with it or name another",
                file, core::Quoted{piece}, key);
  core::require(run_tokenizer.spec.is_native() || tokenizer.is_special(*id), ErrorCode::kBadInput,
                "{}: data.special_tokens.{} names {}, which is an ordinary piece of it; name a special token", file,
                key, core::Quoted{piece});
  return *id;
}

/// Returns an id that source and target must share because it ends the sequences of both.
std::int32_t shared_id(const DataConfig& data, const RunTokenizers& tokenizers, const std::string& piece,
                       std::string_view key) {
  const std::string& source_file = data.source_tokenizer.file;
  const std::string& target_file = data.target_tokenizer.file;
  const std::int32_t source = special_id(tokenizers.source, piece, source_file, key);
  const std::int32_t target = special_id(tokenizers.target, piece, target_file, key);
  core::require(source == target, ErrorCode::kBadInput,
                "{} is {} in {}, but {} in {}; special tokens need equal ids on both sides", core::Quoted{piece},
                source, source_file, target, target_file);
  return source;
}

bool are_texts(const Json& object) {
  return std::ranges::all_of(object, [](const Json& value) { return value.is_string(); });
}

}  // namespace

nn::SequenceSpec make_spec(const TrainingConfig& config, const RunTokenizers& tokenizers) {
  const DataConfig& data = config.data;
  nn::SequenceSpec spec;
  spec.source_vocabulary = tokenizers.source.tokenizer->size();
  spec.target_vocabulary = tokenizers.target.tokenizer->size();
  spec.begin = special_id(tokenizers.target, data.begin, data.target_tokenizer.file, "begin");
  spec.end = shared_id(data, tokenizers, data.end, "end");
  spec.unknown = shared_id(data, tokenizers, data.unknown, "unknown");
  spec.decoder_start = config.model.decoder_start == DecoderStart::kEnd ? spec.end : spec.begin;
  spec.maximum_source_length = config.model.maximum_source_length;
  spec.maximum_target_length = config.model.maximum_target_length;
  return spec;
}

namespace {

/// Returns the paths of all keys of a configuration whose model type read the keys `own`.
std::vector<std::string> keys_beside(const std::string& type, const std::vector<std::string>& own) {
  std::vector<std::string> keys;
  for (const std::string& key : own) keys.push_back("model." + key);
  for (const std::string& key : known_keys())
    if (type == "transformer" || !key.starts_with("model.")) keys.push_back(key);
  return keys;
}

std::unique_ptr<nn::Seq2SeqModel> make_unallocated(const TrainingConfig& config, const TrainerEnvironment& environment,
                                                   const nn::SequenceSpec& spec) {
  try {
    return environment.make_model(config.model.type, spec, config.model.options);
  } catch (const core::UnknownKey& error) {
    core::fail_again(
        error, fmt::format("model (type {}): {}", core::quote(config.model.type),
                           core::describe_unknown_key(error, "model", keys_beside(config.model.type, error.known()))));
  } catch (const core::Error& error) {
    core::fail_again(error, fmt::format("model (type {}): {}", core::quote(config.model.type), error.what()),
                     ErrorCode::kBadInput);
  }
}

}  // namespace

void require_vocabulary_of_tables(const nn::Seq2SeqModel& model, const DataConfig& config,
                                  const RunTokenizers& tokenizers, bool accept, const core::LogSink& log) {
  const nn::EmbeddingTables tables = model.embedding_tables();
  if (tables.source == nullptr || tables.source != tables.target || tokenizers.joint()) return;
  const tokenizer::Tokenizer& source = *tokenizers.source.tokenizer;
  const tokenizer::Tokenizer& target = *tokenizers.target.tokenizer;
  std::int32_t same = 0;
  std::optional<std::int32_t> other;
  for (std::int32_t id = 0; id < std::min(source.size(), target.size()); ++id) {
    if (source.piece(id) == target.piece(id))
      ++same;
    else if (!other)
      other = id;
  }
  if (!other && source.size() == target.size()) return;
  const std::string first = other ? fmt::format("; piece {} is {} and {}", *other, core::Quoted{source.piece(*other)},
                                                core::Quoted{target.piece(*other)})
                                  : std::string();
  const std::string fault = fmt::format(
      "data.tokenizer: {} and {} are different vocabularies ({} and {} pieces, of which {} are the same{}), but the "
      "model has one table of embeddings for both",
      config.source_tokenizer.file, config.target_tokenizer.file, source.size(), target.size(), same, first);
  if (accept) return core::log(log, core::LogLevel::kWarning, fault + ", as it had before");
  core::fail(ErrorCode::kBadInput, "{}; learn one joint vocabulary from the texts of both sides{}", fault,
             model.config().contains("tying") ? ", or set model.tying to target-output" : "");
}

core::Json resolved_configuration(const TrainingConfig& config, const TrainerEnvironment& environment) {
  TrainingConfig resolved = config;
  StartingModel::find(resolved, {}, environment);
  const nn::SequenceSpec any{.source_vocabulary = 8, .target_vocabulary = 8};
  resolved.model.options = make_unallocated(resolved, environment, any)->config();
  return to_json(resolved);
}

std::unique_ptr<nn::Seq2SeqModel> make_model(const TrainingConfig& config, const TrainerEnvironment& environment,
                                             const nn::SequenceSpec& spec, tensor::Device device) {
  std::unique_ptr<nn::Seq2SeqModel> model = make_unallocated(config, environment, spec);
  model->parameters().allocate(environment.runtime->memory(device), environment.runtime->float_type(device), device);
  prepare_embeddings(config.data, *model);
  freeze_parameters(config.training, model->parameters());
  return model;
}

void load_base(const RunFolder& folder, nn::ParameterStore& parameters) {
  const std::filesystem::path file = folder.file(RunFiles::kBaseWeights);
  const std::string sum = folder.recorded_sum(RunFiles::kBaseWeights);
  core::require(
      !sum.empty(), ErrorCode::kBadInput,
      "training.lora: the run to be continued did not train adapters; leave it out, or train in another folder");
  core::require(formats::sha256_of_file(file) == sum, ErrorCode::kBadInput,
                "{}: is not the file that the run began with (its sum is not the one in run.json); restore it",
                file.string());
  formats::refill_parameters(file, parameters);
}

Json make_run_record(const TrainingConfig& config, const Json& build, const nn::Seq2SeqModel& model,
                     const RunTokenizers& tokenizers, const Corpus& train, const Corpus* validation) {
  // The model's own configuration, so that naming a default is not a change.
  TrainingConfig resolved = config;
  resolved.model.options = model.config();
  Json data = {{"train", train.fingerprint()},
               {"source_tokenizer", tokenizers.source.fingerprint},
               {"target_tokenizer", tokenizers.target.fingerprint}};
  if (validation != nullptr) data["validation"] = validation->fingerprint();
  const Json configuration = to_json(resolved);
  Json sums = {{"configuration", formats::sha256_of(core::one_line(configuration))},
               {tokenizers.source_name(), formats::sha256_of(tokenizers.source.spec.content)}};
  if (!tokenizers.joint()) sums[tokenizers.target_name()] = formats::sha256_of(tokenizers.target.spec.content);
  return {{"format_version", RunFiles::kRecordVersion},
          {"build", build},
          {"configuration", configuration},
          {"affects_results", keys_that_affect_results(resolved)},
          {"data", data},
          {"finished", nullptr},
          {"sha256", sums}};
}

void write_run_record(const Json& record, const std::filesystem::path& file) {
  core::write_file(file, record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Json read_run_record(const std::filesystem::path& file) {
  const std::string where = file.string();
  Json record = core::parse_json(core::read_regular_file(file, kLargestRecord), where);
  const auto holds_object = [&](const char* key) { return record.contains(key) && record[key].is_object(); };
  core::require(record.is_object() && record.contains("format_version") && holds_object("affects_results") &&
                    holds_object("data") && are_texts(record["data"]),
                ErrorCode::kBadInput, "{}: is not the record of a training run", where);
  if (core::require_known_version(record, RunFiles::kRecordVersion, where) == 1) return record;  // had no sums
  core::require(
      holds_object("sha256") && holds_object("configuration") && are_texts(record["sha256"]) &&
          record["sha256"].value("configuration", "") == formats::sha256_of(core::one_line(record["configuration"])),
      ErrorCode::kBadInput,
      "{}: the configuration in it has not the sum that sha256.configuration gives; the file is damaged or "
      "was changed, restore it",
      where);
  return record;
}

namespace {

/// Returns everything that affected the results of a run. Keys that were added since then have the values of that time.
Json with_later_keys(const Json& before, const Json& now) {
  static const std::vector<std::pair<const char*, Json>> later = {{"training.compute", "fp32"},
                                                                  {"training.row_bucket", 1},
                                                                  {"training.train_only", Json::array()},
                                                                  {"training.freeze", Json::array()},
                                                                  {"training.lora.rank", 0},
                                                                  {"data.source_language", ""},
                                                                  {"data.target_language", ""},
                                                                  {"data.temperature", 1},
                                                                  {"data.alignment_units", "words"},
                                                                  {"training.lora.alpha", 16},
                                                                  {"training.lora.targets", Json::array()},
                                                                  {"model.init", "default"},
                                                                  {"model.position_base", 10000},
                                                                  {"model.output_width", 0},
                                                                  {"model.query_scaling", "late"},
                                                                  {"model.encoder_tied_layers", Json::array()},
                                                                  {"model.decoder_tied_layers", Json::array()},
                                                                  {"model.dropout.layer", 0}};
  Json known = before["affects_results"];
  for (const auto& [key, value] : later)
    if (now["affects_results"].contains(key) && !known.contains(key)) known[key] = value;
  // The other keys were added such that their defaults equal the previous behaviour.
  const Json usual = keys_that_affect_results({});
  for (const auto& [key, value] : usual.items())
    if (key.starts_with("training.") && now["affects_results"].contains(key) && !known.contains(key))
      known[key] = value;
  return known;
}

/// Keys of the model decide which parameters there are; a fork cannot take those of another model.
std::string_view remedy_for(const Json& before, const Json& now) {
  for (const auto& [key, value] : now.items())
    if (key.starts_with("model.") && !key.starts_with("model.dropout.") && before.value(key, Json()) != value)
      return "restore that, or train another model in another folder (`model.from` with `from_matching` takes the "
             "parameters that fit); `fork` accepts changes that leave the parameters as they are";
  return "restore that, or accept it with `fork`";
}

}  // namespace

bool validates_alike(const Json& before, const Json& now) {
  const auto what_matters = [](const Json& keys, const Json& data) {
    Json kept = Json::object();
    for (const auto& [key, value] : keys.items())
      if (key.starts_with("model.") || key.starts_with("validation.") || key.starts_with("data."))
        core::append_member(kept, key, value);
    for (const auto& [key, value] : data.items())
      if (key != "train") core::append_member(kept, "content of " + key, value);
    return kept;
  };
  return core::differences(what_matters(with_later_keys(before, now), before["data"]),
                           what_matters(now["affects_results"], now["data"]))
      .empty();
}

std::string check_same_run(const Json& before, const Json& now, bool fork, const std::string& where,
                           const core::LogSink& log) {
  const Json known = with_later_keys(before, now);
  std::string changed = core::differences(known, now["affects_results"]);
  const std::string data = core::differences(before["data"], now["data"]);
  if (!data.empty()) changed += (changed.empty() ? "" : "; ") + ("the content of the data: " + data);
  core::require_option(changed.empty() || fork, "fork", ErrorCode::kBadInput,
                       "{}: the run to be continued differs in what affects results: {}; {}", where, changed,
                       remedy_for(known, now["affects_results"]));
  if (!changed.empty()) core::log(log, core::LogLevel::kWarning, "forked from a run that differs: " + changed);
  const std::string build = core::differences(before.value("build", Json::object()), now["build"]);
  if (!build.empty())
    core::log(log, core::LogLevel::kWarning,
              "the run was begun by another build, so its continuation may differ in the last bits: " + build);
  return changed;
}

}  // namespace dragoman::training
