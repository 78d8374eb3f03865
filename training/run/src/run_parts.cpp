#include "run_parts.h"

#include "models/export.h"
#include "start/run_embeddings.h"
#include "start/run_setup.h"
#include "update/memory_budget.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/training/run_files.h>

namespace dragoman::training {
namespace {

/// Returns the tags of the pairs of each text: the tags of its languages, and its own tag before the source.
std::vector<formats::SequenceTags> tags_of_texts(const RunParts& run, const ParallelCorpusConfig& texts) {
  std::vector<formats::SequenceTags> tags;
  for (const CorpusPart& text : parts_of(texts)) {
    DataConfig languages;
    languages.source_language = text.source_language.empty() ? run.config.data.source_language : text.source_language;
    languages.target_language = text.target_language.empty() ? run.config.data.target_language : text.target_language;
    formats::SequenceTags& own = tags.emplace_back(run.start ? run.start->tags(languages) : formats::SequenceTags{});
    if (text.tag.empty()) continue;
    const tokenizer::Tokenizer& tokenizer = *run.tokenizers.source.tokenizer;
    const std::optional<std::int32_t> token = tokenizer.id(text.tag);
    const std::vector<std::int32_t> ids = token ? std::vector{*token} : tokenizer.encode(text.tag);
    own.source_prefix.insert(own.source_prefix.end(), ids.begin(), ids.end());
  }
  return tags;
}

CorpusOptions training_corpus_options(const RunParts& run) {
  const DataConfig& data = run.config.data;
  return {.maximum_length = data.maximum_length,
          .end = run.spec.end,
          .tags_of_texts = tags_of_texts(run, data.train),
          .bpe_dropout = data.bpe_dropout,
          .subword_sampling = data.subword_sampling,
          .alignment_units = data.alignment_units,
          .seed = run.config.training.seed,
          .keep_parts = !data.phases.empty(),
          .temperature = data.temperature,
          .memory = data.memory,
          .cache = data.cache.empty() ? run.folder.file(RunFiles::kBlocks) : std::filesystem::path(data.cache),
          .tokenizers = run.tokenizers.source.fingerprint + " " + run.tokenizers.target.fingerprint,
          .log = run.environment.log};
}

CorpusOptions validation_corpus_options(const RunParts& run) {
  return {.maximum_length = std::min(run.spec.maximum_source_length, run.spec.maximum_target_length),
          .end = run.spec.end,
          .tags_of_texts = tags_of_texts(run, run.config.data.validation),
          .keep_text = true};
}

void log_counts(const RunParts& run, std::string_view what, const Corpus& corpus) {
  const CorpusCounts& counts = corpus.counts();
  run.log(fmt::format("{}: {} pairs of {} lines, {} source and {} target tokens", what, corpus.size(), counts.lines,
                      corpus.source_tokens(), corpus.target_tokens()));
  if (corpus.on_disk()) run.log(fmt::format("{}: on disk, in {} blocks", what, corpus.blocks()));
  if (counts.empty + counts.too_long + counts.invalid_text > 0)
    run.warn(fmt::format(
        "{}: left out {} pairs with an empty side and {} over-long ones; repaired ill-formed UTF-8 in {} lines", what,
        counts.empty, counts.too_long, counts.invalid_text));
}

std::unique_ptr<Corpus> read_corpus(const RunParts& run, std::string_view what, const ParallelCorpusConfig& files,
                                    const CorpusOptions& options, const std::stop_token& stop) {
  auto corpus =
      std::make_unique<Corpus>(files, run.tokenizers.pair(), options, *run.executor, run.environment.progress, stop);
  log_counts(run, what, *corpus);
  return corpus;
}

/// If a corpus is on disk, every process uses the same blocks, and one process at a time may create them. So rank 0 is
/// first, then one process of every other machine, which finds them or creates its own, and then all others.
void read_training_data(RunParts& run, StartMode mode, const std::stop_token& stop) {
  CorpusOptions options = training_corpus_options(run);
  options.same_pipes = mode != StartMode::kFresh || !run.ranks->leads();
  const auto read = [&] { run.train = read_corpus(run, "training data", run.config.data.train, options, stop); };
  collective::Collective& ranks = *run.ranks;
  if (ranks.leads() && options.memory > 0) read();
  const bool on_disk = ranks.broadcast_text(run.train && run.train->on_disk() ? "disk" : "memory") == "disk";
  if (!run.train && (!on_disk || ranks.local_rank() == 0)) read();
  if (on_disk) ranks.barrier();
  if (!run.train) read();
}

/// Returns the configuration with machine-dependent settings resolved for this machine, so that a run continues with
/// them.
TrainingConfig resolved(TrainingConfig config, const runtime::Runtime& runtime) {
  check(config);
  const tensor::Device device = runtime.device(config.device);
  if (config.training.row_bucket == 0) config.training.row_bucket = runtime.backend(device).row_bucket();
  core::require(
      config.training.row_bucket >= 1 &&
          (config.training.batch_tokens == 0 || config.training.row_bucket <= config.training.batch_tokens),
      core::ErrorCode::kBadInput,
      "training.row_bucket: {} on the device '{}', but batches have {} tokens; set it to a number from 1 to that",
      config.training.row_bucket, config.device, config.training.batch_tokens);
  try {
    config.training.compute = tensor::choice_of(runtime.training_type(device, config.training.compute));
    return config;
  } catch (const core::Error& error) {
    core::fail(error.code(), "training.compute: {}", error.what());
  }
}

std::unique_ptr<tensor::Context> make_training_context(const runtime::Runtime& runtime, tensor::Device device,
                                                       const TrainConfig& recipe, core::Executor& executor) {
  auto context = runtime.make_context(device, executor);
  autograd::TrainingMode& mode = autograd::training_mode(*context);
  mode.set_compute_type(runtime.training_type(device, recipe.compute));
  mode.set_recomputes(recipe.recompute);
  return context;
}

/// Serialises the calls of the log sink, because the thread that reads blocks ahead also logs.
TrainerEnvironment with_serial_log(TrainerEnvironment environment) {
  if (!environment.log) return environment;
  environment.log = [sink = std::move(environment.log), mutex = std::make_shared<std::mutex>()](
                        core::LogLevel level, std::string_view message) {
    const std::lock_guard lock(*mutex);
    sink(level, message);
  };
  return environment;
}

/// The leading process prepares the folder before the others use it.
RunFolder open_folder(const TrainingConfig& config, StartMode mode, collective::Collective& ranks) {
  if (!ranks.leads()) ranks.barrier();
  return RunFolder(config.output, mode, ranks.leads());
}

void check_shares(const RunParts& run) {
  const int processes = run.ranks->size();
  const std::int64_t batches = run.config.training.accumulate;
  core::require(
      batches >= processes, core::ErrorCode::kInvalidArgument,
      "training.accumulate is {}, but {} processes train: it counts the batches of an update, which are shared "
      "out among all of them; set it to a multiple of {}",
      batches, processes, processes);
  const auto alone_only = [&](bool used, const char* key) {
    core::require(processes == 1 || !used, core::ErrorCode::kUnsupported,
                  "{} works in one process, and {} train; leave it out", key, processes);
  };
  alone_only(run.config.training.schedule.kind == ScheduleKind::kPlateau, "training.schedule.type: plateau");
  alone_only(run.config.training.on_non_finite == NonFinitePolicy::kRestore, "training.on_non_finite: restore");
  if (batches % processes != 0)
    run.warn(
        fmt::format("training.accumulate: the {} batches of an update are no multiple of the {} processes, so some "
                    "wait for others",
                    batches, processes));
}

/// A model that was trained with tables for other pieces continues with them.
void check_tokenizers(const RunParts& run, StartMode mode) {
  const DataConfig& data = run.config.data;
  const auto is_of_start = [&](const tokenizer::TokenizerSpec& tokenizer) {
    return run.start && std::filesystem::path(tokenizer.file).parent_path() == run.config.model.from;
  };
  const bool accept =
      mode == StartMode::kResume || (is_of_start(data.source_tokenizer) && is_of_start(data.target_tokenizer));
  require_vocabulary_of_tables(*run.model, data, run.tokenizers, accept, run.environment.log);
}

void check_guidance(const RunParts& run) {
  const TrainingConfig& config = run.config;
  core::require(config.training.guided_alignment.weight == 0 || !has_alignments(config.data.train) ||
                    run.model->alignment_heads().memory.index >= 0,
                core::ErrorCode::kUnsupported,
                "training.guided_alignment: a model of the type '{}' names no attention as its alignment; set its "
                "weight to 0, or leave the alignments of data.train out",
                config.model.type);
}

/// Returns the memory in use besides the step of a batch.
MemoryUse memory_use(const RunParts& run) {
  const auto bytes_of = [](const nn::ParameterStore& store) {
    return static_cast<std::uint64_t>(store.flat_values().size()) * sizeof(float);
  };
  // Partial sums that wait for others while the last batch is computed.
  const auto share =
      static_cast<std::uint64_t>((run.config.training.accumulate + run.ranks->size() - 1) / run.ranks->size());
  const std::uint64_t waiting = share > 1 ? std::bit_width(share - 1) : 0;
  const std::uint64_t model = bytes_of(run.model->parameters());
  MemoryUse use{.parameters = model, .gradients = model + waiting * bytes_of(run.trained()), .program = 100'000'000};
  if (run.adapters) {
    use.parameters += model + bytes_of(run.trained());  // the base is kept in addition to the merged weights
    use.gradients += bytes_of(run.trained());
  }
  for (const OptimizerState& state : run.optimizer->states())
    for (const NamedTensor& tensor : state.tensors) use.optimizer += tensor.tensor.size() * sizeof(float);
  if (run.optimizer->has_average()) use.optimizer += bytes_of(run.trained());
  if (run.validator) use.validation = model;
  const bool on_host = run.environment.runtime->memory(run.device).host_readable();
  if (run.train->on_disk()) {
    use.corpus = run.config.data.memory / 2;  // the window in use and the one that is being read
  } else if (on_host) {
    const SequenceList& links = run.train->pairs().links;
    use.corpus = (run.train->source_tokens() + run.train->target_tokens() + links.total()) * sizeof(std::int32_t) +
                 (2 * run.train->size() + links.size()) * sizeof(std::uint64_t);
    // Of this epoch and of the next one.
    if (run.config.data.bpe_dropout > 0 || run.config.data.subword_sampling.on) use.corpus *= 2;
  }
  return use;
}

/// Returns the value with which the run began, or else what training.memory has room for. Equal for all processes.
std::int64_t find_batch_tokens(const RunParts& run) {
  const core::Json& record = run.folder.record();
  const core::Json::json_pointer place("/configuration/training/batch_tokens");
  if (record.is_object() && record.contains(place) && record[place].is_number_integer())
    return record[place].get<std::int64_t>();
  const std::int64_t own = batch_tokens_within({run.config, [&run] { return run.make_model(); }, *run.context},
                                               memory_use(run), run.environment.log);
  if (run.ranks->alone()) return own;
  std::int64_t least = own;
  for (const std::string& text : run.ranks->gather_texts(std::to_string(own)))
    least = std::min<std::int64_t>(least, std::stoll(text));
  return least;
}

tensor::ComputeType find_validation_type(const runtime::Runtime& runtime, tensor::Device device,
                                         const ValidationConfig& config) {
  try {
    return runtime.inference_type(device, config.compute);
  } catch (const core::Error& error) {
    core::fail(error.code(), "validation.compute: {}", error.what());
  }
}

/// Returns the configuration, or rejects it before anything is read or written.
TrainingConfig with_allowed_commands(TrainingConfig config, const TrainerEnvironment& environment) {
  if (environment.allow_commands) return config;
  const std::vector<std::string> commands = commands_of(config);
  core::require(
      commands.empty(), core::ErrorCode::kBadInput,
      "validation.metrics: a metric runs a program ({}), which is not allowed; allow commands if you trust the "
      "configuration, or leave the metric out",
      core::printable(commands.empty() ? "" : commands.front(), 200));
  return config;
}

}  // namespace

RunParts::RunParts(TrainingConfig run_config, TrainerEnvironment run_environment, StartMode mode,
                   const std::stop_token& stop)
    : config(resolved(with_allowed_commands(std::move(run_config), run_environment), *run_environment.runtime)),
      environment(with_serial_log(std::move(run_environment))),
      single(environment.ranks == nullptr ? collective::make_single() : nullptr),
      ranks(single ? single.get() : environment.ranks),
      folder(open_folder(config, mode, *ranks)),
      start(StartingModel::find(config, folder.record(), environment)),
      device(environment.runtime->device(config.device)),
      validation_type(find_validation_type(*environment.runtime, device, config.validation)),
      executor(core::make_executor(config.threads)),
      context(make_training_context(*environment.runtime, device, config.training, *executor)),
      tokenizers(load_tokenizers(
          config.data,
          {.folder = &folder, .environment = &environment, .fork = mode == StartMode::kFork, .stop = stop})),
      spec(start ? start->spec(config, tokenizers) : make_spec(config, tokenizers)),
      model(make_model()) {
  if (ranks->leads()) {
    require_room_for_models(config);
    ranks->barrier();
  }
  check_shares(*this);
  check_tokenizers(*this, mode);
  check_guidance(*this);
  // It is small, so a fault in its files is found before hours are spent on the training data.
  if (!config.data.validation.empty() && ranks->leads())
    validation = read_corpus(*this, "validation data", config.data.validation, validation_corpus_options(*this), stop);
  read_training_data(*this, mode, stop);
  if (validation) {
    validator.emplace(*validation, tokenizers.pair(), config.validation, *environment.runtime, device, *executor,
                      folder.file(RunFiles::kValidation), environment.metrics);
    if (config.validation.concurrent()) {
      validation_executor = core::make_executor(config.validation.threads);
      concurrent_validator.emplace(*validation, tokenizers.pair(), config.validation, *environment.runtime, device,
                                   *validation_executor, folder.file(RunFiles::kValidation), environment.metrics);
    }
  }
  tensor::DeviceMemory& memory = environment.runtime->memory(device);
  model->parameters().attach_gradients(memory);
  const TrainConfig& recipe = config.training;
  if (recipe.lora.on()) {
    adapters = std::make_unique<LowRankAdapters>(recipe.lora, model->parameters(), memory);
    adapters->parameters().attach_gradients(memory);
  }
  optimizer = std::make_unique<Optimizer>(trained(), memory, recipe.optimizer, recipe.clip_norm, recipe.ema_decay);
  if (config.training.batch_tokens == 0) {
    config.training.batch_tokens = find_batch_tokens(*this);
    config.training.memory = 0;  // has served its purpose: the run continues with this size on any machine
    check(config);
  }
  batches = std::make_unique<BatchSource>(config, *train, *executor);
  gradients = std::make_unique<GradientAccumulator>(config.training,
                                                    GradientParts{.model = *model,
                                                                  .adapters = adapters.get(),
                                                                  .aligned = has_alignments(config.data.train),
                                                                  .ranks = *ranks,
                                                                  .bucket_values = environment.bucket_values,
                                                                  .links = environment.links},
                                                    *batches, *context);
  environment.build[tensor::name_of(device)] = environment.runtime->backend(device).describe();
  record = make_run_record(config, environment.build, *model, tokenizers, *train, validation.get());
  if (train->on_disk())
    record["data"]["order"] = fmt::format("{} blocks of {} bytes", train->blocks(), config.data.memory);
  if (start) {
    record["start"] = start->account(spec, tokenizers);
    record["data"]["starting_model"] = start->sum();
  }
  record["data"].update(embedding_sums(config.data, folder.record()));
}

std::unique_ptr<nn::Seq2SeqModel> RunParts::make_model() const {
  return training::make_model(config, environment, spec, device);
}

}  // namespace dragoman::training
