#include "run_setup.h"

#include <dragoman/core/file.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;
using core::Json;

std::int32_t special_id(const tokenizer::Tokenizer& tokenizer, const std::string& piece, const std::string& file,
                        std::string_view key) {
  const std::optional<std::int32_t> id = tokenizer.id(piece);
  core::require(
      id.has_value(), ErrorCode::kBadInput,
      "{}: has no token '{}', which data.special_tokens.{} names; learn the vocabulary with it or name another", file,
      piece, key);
  return *id;
}

/// An id that source and target must share, since sequences of both are closed by it.
std::int32_t shared_id(const DataConfig& data, const TokenizerPair& tokenizers, const std::string& piece,
                       std::string_view key) {
  const std::int32_t source = special_id(*tokenizers.source, piece, data.source_tokenizer, key);
  const std::int32_t target = special_id(*tokenizers.target, piece, data.target_tokenizer, key);
  core::require(source == target, ErrorCode::kBadInput,
                "'{}' is {} in {}, but {} in {}; special tokens need equal ids on both sides", piece, source,
                data.source_tokenizer, target, data.target_tokenizer);
  return source;
}

std::string file_fingerprint(const std::string& path) {
  return hexadecimal(fingerprint(core::read_file(path)));
}

std::string shorten(const Json& value) {
  const std::string text = value.is_null() ? "nothing" : value.dump();
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

/// "a was 1 and is now 2; ..." for each key whose value differs.
std::string differences(const Json& before, const Json& now) {
  std::string text;
  const auto add = [&](const std::string& key, const Json& old_value, const Json& new_value) {
    text +=
        fmt::format("{}{} was {} and is now {}", text.empty() ? "" : "; ", key, shorten(old_value), shorten(new_value));
  };
  for (const auto& [key, value] : now.items()) {
    const Json old_value = before.contains(key) ? before[key] : Json();
    if (old_value != value) add(key, old_value, value);
  }
  for (const auto& [key, value] : before.items())
    if (!now.contains(key)) add(key, value, Json());
  return text;
}

}  // namespace

TokenizerPair load_tokenizers(const DataConfig& config) {
  TokenizerPair pair;
  pair.source = tokenizer::load_tokenizer(config.source_tokenizer);
  const bool joint = config.source_tokenizer == config.target_tokenizer;
  pair.target = joint ? pair.source : std::shared_ptr(tokenizer::load_tokenizer(config.target_tokenizer));
  return pair;
}

nn::SequenceSpec make_spec(const TrainingConfig& config, const TokenizerPair& tokenizers) {
  const DataConfig& data = config.data;
  nn::SequenceSpec spec;
  spec.source_vocabulary = tokenizers.source->size();
  spec.target_vocabulary = tokenizers.target->size();
  spec.begin = special_id(*tokenizers.target, data.begin, data.target_tokenizer, "begin");
  spec.end = shared_id(data, tokenizers, data.end, "end");
  spec.unknown = shared_id(data, tokenizers, data.unknown, "unknown");
  spec.decoder_start = config.model.decoder_starts_with_end ? spec.end : spec.begin;
  spec.maximum_source_length = config.model.maximum_source_length;
  spec.maximum_target_length = config.model.maximum_target_length;
  return spec;
}

namespace {

std::unique_ptr<nn::Seq2SeqModel> make_unallocated(const TrainingConfig& config, const TrainerEnvironment& environment,
                                                   const nn::SequenceSpec& spec) {
  try {
    return environment.make_model(config.model.type, spec, config.model.options);
  } catch (const core::Error& error) {
    core::fail(ErrorCode::kBadInput, "model (type '{}'): {}", config.model.type, error.what());
  }
}

}  // namespace

core::Json resolved_configuration(const TrainingConfig& config, const TrainerEnvironment& environment) {
  TrainingConfig resolved = config;
  const nn::SequenceSpec any{.source_vocabulary = 8, .target_vocabulary = 8};
  resolved.model.options = make_unallocated(config, environment, any)->config();
  return to_json(resolved);
}

std::unique_ptr<nn::Seq2SeqModel> make_model(const TrainingConfig& config, const TrainerEnvironment& environment,
                                             const nn::SequenceSpec& spec, tensor::Device device) {
  std::unique_ptr<nn::Seq2SeqModel> model = make_unallocated(config, environment, spec);
  model->parameters().allocate(environment.runtime->allocator(device), runtime::Runtime::float_type(device), device);
  return model;
}

Json make_run_record(const TrainingConfig& config, const Json& build, const nn::Seq2SeqModel& model,
                     const Corpus& train, const Corpus* validation) {
  // The model's own account of itself, so that writing out a default is not a change.
  TrainingConfig resolved = config;
  resolved.model.options = model.config();
  Json data = {{"train", train.fingerprint()},
               {"source_tokenizer", file_fingerprint(config.data.source_tokenizer)},
               {"target_tokenizer", file_fingerprint(config.data.target_tokenizer)}};
  if (validation != nullptr) data["validation"] = validation->fingerprint();
  return {{"format_version", 1},
          {"build", build},
          {"configuration", to_json(resolved)},
          {"affects_results", keys_that_affect_results(resolved)},
          {"data", data}};
}

void check_same_run(const Json& before, const Json& now, bool fork, const std::string& where,
                    const core::LogSink& log) {
  core::require(before.is_object() && before.value("affects_results", Json()).is_object() &&
                    before.value("data", Json()).is_object(),
                ErrorCode::kBadInput, "{}: is not the record of a training run", where);
  std::string changed = differences(before["affects_results"], now["affects_results"]);
  const std::string data = differences(before["data"], now["data"]);
  if (!data.empty()) changed += (changed.empty() ? "" : "; ") + ("the content of the data: " + data);
  core::require(
      changed.empty() || fork, ErrorCode::kBadInput,
      "{}: the run to be continued differs in what affects results: {}; restore that, or accept it with --fork", where,
      changed);
  if (!changed.empty()) core::log(log, core::LogLevel::kWarning, "forked from a run that differs: " + changed);
  const std::string build = differences(before.value("build", Json::object()), now["build"]);
  if (!build.empty())
    core::log(log, core::LogLevel::kWarning,
              "the run was begun by another build, so its continuation may differ in the last bits: " + build);
}

}  // namespace dragoman::training
