#include "dragoman/training/trainer.h"

#include "export.h"
#include "gradient_accumulator.h"
#include "run_folder.h"
#include "run_setup.h"
#include "run_tokenizers.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/tensor/host_view.h>
#include <dragoman/training/checkpoint.h>
#include <dragoman/training/optimizer.h>
#include <dragoman/training/run_log.h>
#include <dragoman/training/validation.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Json;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

CorpusOptions training_corpus_options(const TrainingConfig& config, const nn::SequenceSpec& spec) {
  return {.maximum_length = config.data.maximum_length,
          .end = spec.end,
          .bpe_dropout = config.data.bpe_dropout,
          .seed = config.training.seed};
}

CorpusOptions validation_corpus_options(const nn::SequenceSpec& spec) {
  return {.maximum_length = std::min(spec.maximum_source_length, spec.maximum_target_length),
          .end = spec.end,
          .keep_text = true};
}

EarlyStopping::Options early_stopping_options(const TrainingConfig& config) {
  const bool ranks = config.checkpoint.average_of == AverageOf::kBest;
  return {.higher_is_better = higher_is_better(config.validation.metric),
          .patience = config.validation.patience,
          .remember = ranks ? config.checkpoint.average : 1};
}

void log_counts(const core::LogSink& log, std::string_view what, const Corpus& corpus) {
  const CorpusCounts& counts = corpus.counts();
  core::log(log, core::LogLevel::kInfo,
            fmt::format("{}: {} pairs of {} lines, {} source and {} target tokens", what, corpus.size(), counts.lines,
                        corpus.pairs().source.total(), corpus.pairs().target.total()));
  if (counts.empty + counts.too_long + counts.invalid_text > 0)
    core::log(
        log, core::LogLevel::kWarning,
        fmt::format(
            "{}: left out {} pairs with an empty side and {} over-long ones; repaired ill-formed UTF-8 in {} lines",
            what, counts.empty, counts.too_long, counts.invalid_text));
}

}  // namespace

class Trainer::Impl {
 public:
  Impl(TrainingConfig config, TrainerEnvironment environment, StartMode mode, const std::stop_token& stop);
  TrainingSummary run(const std::stop_token& stop);
  const nn::Seq2SeqModel& model() const noexcept { return *model_; }

 private:
  struct ValidatedModel {
    std::unique_ptr<nn::Seq2SeqModel> model;
    std::int64_t update = 0;
    ValidationResult result;
  };

  // Set-up.
  std::unique_ptr<Corpus> read_validation(const std::stop_token& stop);
  void start_fresh();
  void resume(bool fork);
  void record_run() const;
  TrainingState load_last_checkpoint();
  TrainingState load_checkpoint(const fs::path& checkpoint);

  // One update.
  void train_one_update();
  void require_finite(double loss, double norm) const;
  void count(const ops::LossSums& sums, double learning_rate, double norm, double seconds);
  void append_training_line(double learning_rate, double norm);
  void show_progress(double learning_rate) const;

  // Between updates.
  bool at_end() const;
  bool validation_due() const;
  bool checkpoint_due() const;
  bool ranked_checkpoint_due() const;
  bool validate(const std::stop_token& stop);
  std::optional<ValidatedModel> validate_snapshot(const std::stop_token& stop);
  void record_validation(const ValidationResult& result, bool best);
  void save_checkpoint();
  void rescue() noexcept;
  bool averages_best() const;
  std::vector<std::int64_t> updates_of_mean() const;
  [[noreturn]] void interrupt();

  // The end.
  TrainingSummary finish(const std::stop_token& stop);
  void export_average(TrainingSummary& summary, const std::stop_token& stop);
  std::vector<fs::path> checkpoints_to_average() const;

  std::unique_ptr<nn::Seq2SeqModel> snapshot() const;
  void export_best(ValidatedModel best);
  fs::path file(const char* name) const { return folder_.file(name); }
  void log(const std::string& message) const { core::log(environment_.log, core::LogLevel::kInfo, message); }

  TrainingConfig config_;
  TrainerEnvironment environment_;
  RunFolder folder_;  // before all that reads or writes in it
  tensor::Device device_;
  std::unique_ptr<core::Executor> executor_;
  std::unique_ptr<tensor::Context> context_;
  RunTokenizers tokenizers_;
  nn::SequenceSpec spec_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Corpus> train_;
  std::unique_ptr<GradientAccumulator> gradients_;
  std::unique_ptr<Corpus> validation_;
  std::optional<Validator> validator_;
  Json record_;

  CheckpointStore store_;
  std::optional<RunLog> run_log_;
  EarlyStopping early_stopping_;
  TrainingState state_;
  /// Of the newest checkpoint, -1 if there is none.
  std::int64_t saved_update_ = -1;
  /// Whether something has changed since then.
  bool unsaved_ = false;
  std::optional<ModelExports> exports_;
  /// The best model, if it could not be written.
  std::optional<ValidatedModel> unwritten_best_;

  double last_loss_ = 0;
  double window_seconds_ = 0;
  double tokens_per_second_ = 0;  ///< a moving average, for the eye
};

// --- set-up ---

Trainer::Impl::Impl(TrainingConfig config, TrainerEnvironment environment, StartMode mode, const std::stop_token& stop)
    : config_(std::move(config)),
      environment_(std::move(environment)),
      folder_(config_.output, mode),
      device_(environment_.runtime->device(config_.device)),
      executor_(core::make_executor(config_.threads)),
      context_(environment_.runtime->make_context(device_, *executor_)),
      tokenizers_(load_tokenizers(
          config_.data, {.folder = &folder_, .fork = mode == StartMode::kFork, .log = environment_.log, .stop = stop})),
      spec_(make_spec(config_, tokenizers_)),
      model_(make_model(config_, environment_, spec_, device_)),
      store_(config_.output),
      early_stopping_(early_stopping_options(config_)) {
  require_room_for_models(config_);
  train_ = std::make_unique<Corpus>(config_.data.train, tokenizers_.pair(), training_corpus_options(config_, spec_),
                                    *executor_, environment_.progress, stop);
  log_counts(environment_.log, "training data", *train_);
  validation_ = read_validation(stop);
  model_->parameters().attach_gradients(environment_.runtime->memory(device_));
  optimizer_ =
      std::make_unique<Optimizer>(model_->parameters(), environment_.runtime->memory(device_),
                                  config_.training.optimizer, config_.training.clip_norm, config_.training.ema_decay);
  gradients_ = std::make_unique<GradientAccumulator>(config_, *model_, *train_, *context_);
  environment_.build[tensor::name_of(device_)] = environment_.runtime->backend(device_).describe();
  record_ = make_run_record(config_, environment_.build, *model_, tokenizers_, *train_, validation_.get());
  const std::string plugin = environment_.plugin_of ? environment_.plugin_of(config_.model.type) : std::string();
  exports_.emplace(config_, tokenizers_, record_, plugin, environment_.log);
  if (mode == StartMode::kFresh)
    start_fresh();
  else
    resume(mode == StartMode::kFork);
  log(fmt::format("{} parameters, {} threads", model_->parameters().count(), executor_->threads()));
}

std::unique_ptr<Corpus> Trainer::Impl::read_validation(const std::stop_token& stop) {
  if (config_.data.validation.empty()) return nullptr;
  auto corpus = std::make_unique<Corpus>(config_.data.validation, tokenizers_.pair(), validation_corpus_options(spec_),
                                         *executor_, environment_.progress, stop);
  log_counts(environment_.log, "validation data", *corpus);
  validator_.emplace(*corpus, tokenizers_.pair(), config_.validation, *environment_.runtime, device_, *executor_);
  return corpus;
}

void Trainer::Impl::start_fresh() {
  model_->parameters().initialise(config_.training.seed);
  if (optimizer_->has_average()) optimizer_->start_average();
  record_run();
  run_log_.emplace(file("metrics.jsonl"), 0, 0);
}

void Trainer::Impl::resume(bool fork) {
  check_same_run(folder_.record(), record_, fork, file("run.json").string(), environment_.log);
  state_ = load_last_checkpoint();
  saved_update_ = state_.update;
  record_run();
  run_log_.emplace(file("metrics.jsonl"), state_.metric_lines, state_.update);
  if (run_log_->lines() < state_.metric_lines)
    core::log(environment_.log, core::LogLevel::kWarning,
              fmt::format("{}: has {} lines from before the checkpoint, which was made after {}; it goes on from there",
                          file("metrics.jsonl").string(), run_log_->lines(), state_.metric_lines));
  log(fmt::format("resumed after update {}, epoch {}", state_.update, state_.epoch + 1));
}

/// The copies come before the record that vouches for them.
void Trainer::Impl::record_run() const {
  write_tokenizers(tokenizers_, folder_);
  write_run_record(record_, file("run.json"));
}

TrainingState Trainer::Impl::load_last_checkpoint() {
  const auto warn = [&](const std::string& message) { core::log(environment_.log, core::LogLevel::kWarning, message); };
  const std::vector<std::int64_t> updates = store_.updates();
  require(!updates.empty(), ErrorCode::kIo,
          "{}: the checkpoints were there when this run began and are gone now; was the folder moved or removed?",
          folder_.path().string());
  std::vector<std::int64_t> damaged;
  for (auto update = updates.rbegin();; ++update) {
    try {
      TrainingState state = load_checkpoint(store_.path(*update));
      for (const std::int64_t other : damaged)
        warn(fmt::format("{}: kept as {}", store_.path(other).string(), store_.set_aside(other).string()));
      return state;
    } catch (const core::Error& error) {
      // What is wrong with anything but these files is wrong with the checkpoint before, too, or passes.
      if (error.code() != ErrorCode::kBadInput || std::next(update) == updates.rend()) throw;
      warn(fmt::format("{}; falling back to the checkpoint before it", error.what()));
      damaged.push_back(*update);
    }
  }
}

TrainingState Trainer::Impl::load_checkpoint(const fs::path& checkpoint) {
  TrainingState state = open_checkpoint(checkpoint);
  early_stopping_.restore(state.early_stopping, (checkpoint / "state.json").string() + ": early_stopping");
  load_tensors(checkpoint / "model.safetensors", parameter_views(model_->parameters()));
  load_tensors(checkpoint / "first_moment.safetensors", optimizer_->first_moments());
  load_tensors(checkpoint / "second_moment.safetensors", optimizer_->second_moments());
  if (!optimizer_->has_average()) return state;
  if (fs::exists(checkpoint / "average.safetensors"))
    load_tensors(checkpoint / "average.safetensors", optimizer_->averages());
  else
    optimizer_->start_average();
  return state;
}

// --- one update ---

void Trainer::Impl::train_one_update() {
  const auto start = Clock::now();
  const UpdateGradients gradients = gradients_->compute(state_);
  const double norm = optimizer_->gradient_norm(*context_);
  require_finite(gradients.sums.loss, norm);
  const ScheduleScope scope{.updates = config_.training.updates,
                            .model_width = model_->output().weight.value.value.cols};
  const double learning_rate = learning_rate_at(state_.update + 1, config_.training.schedule, scope);
  optimizer_->apply(*context_, state_.update + 1, learning_rate, norm);
  unsaved_ = true;
  gradients_->advance(state_, gradients);
  count(gradients.sums, learning_rate, norm, seconds_since(start));
}

void Trainer::Impl::require_finite(double loss, double norm) const {
  if (std::isfinite(loss) && std::isfinite(norm)) return;
  const std::string kept =
      saved_update_ >= 0 ? store_.path(saved_update_).string() + " is kept" : "there is no checkpoint yet";
  core::fail(ErrorCode::kInvalidArgument,
             "update {} (epoch {}, batch {}): training diverged, the loss is {} and the norm of the gradient {}; {}; "
             "lower training.schedule.learning_rate, lengthen its warm-up or set training.clip_norm",
             state_.update + 1, state_.epoch + 1, state_.batch, loss, norm, kept);
}

void Trainer::Impl::count(const ops::LossSums& sums, double learning_rate, double norm, double seconds) {
  last_loss_ = sums.loss / static_cast<double>(sums.tokens);
  state_.window_loss += sums.loss;
  state_.window_nll += sums.negative_log_likelihood;
  state_.window_tokens += sums.tokens;
  window_seconds_ += seconds;
  const double rate = static_cast<double>(sums.tokens) / seconds;
  tokens_per_second_ = tokens_per_second_ == 0 ? rate : 0.95 * tokens_per_second_ + 0.05 * rate;
  show_progress(learning_rate);
  if (state_.update % config_.training.report_every == 0) append_training_line(learning_rate, norm);
}

void Trainer::Impl::append_training_line(double learning_rate, double norm) {
  const auto tokens = static_cast<double>(state_.window_tokens);
  run_log_->append({{"type", "training"},
                    {"update", state_.update},
                    {"epoch", state_.epoch},
                    {"loss", state_.window_loss / tokens},
                    {"perplexity", std::exp(state_.window_nll / tokens)},
                    {"learning_rate", learning_rate},
                    {"gradient_norm", norm},
                    {"target_tokens", state_.window_tokens},
                    {"seconds", window_seconds_}});
  state_.window_loss = state_.window_nll = window_seconds_ = 0;
  state_.window_tokens = 0;
}

void Trainer::Impl::show_progress(double learning_rate) const {
  if (!environment_.progress) return;
  std::int64_t total = config_.training.epochs * gradients_->updates_per_epoch();
  if (config_.training.updates > 0)
    total = total > 0 ? std::min(total, config_.training.updates) : config_.training.updates;
  environment_.progress({.stage = "train",
                         .done = static_cast<std::uint64_t>(state_.update),
                         .total = static_cast<std::uint64_t>(total),
                         .unit = "updates",
                         .figures = {{"epoch", static_cast<double>(state_.epoch + 1)},
                                     {"loss", last_loss_},
                                     {"tokens/s", tokens_per_second_},
                                     {"lr", learning_rate}}});
}

// --- between updates ---

bool Trainer::Impl::at_end() const {
  const RecipeConfig& recipe = config_.training;
  return (recipe.updates > 0 && state_.update >= recipe.updates) ||
         (recipe.epochs > 0 && state_.epoch >= recipe.epochs) || early_stopping_.exhausted();
}

bool Trainer::Impl::validation_due() const {
  const std::int64_t every = config_.validation.every;
  return validator_ && every > 0 && state_.update > 0 && state_.update % every == 0 &&
         state_.validated != state_.update;
}

bool Trainer::Impl::checkpoint_due() const {
  const std::int64_t every = config_.checkpoint.every;
  return unsaved_ && every > 0 && state_.update % every == 0;
}

/// What may be averaged at the end must exist by then.
bool Trainer::Impl::ranked_checkpoint_due() const {
  if (!averages_best() || saved_update_ == state_.update) return false;
  return std::ranges::any_of(early_stopping_.ranking(),
                             [&](const ScoredUpdate& best) { return best.update == state_.update; });
}

bool Trainer::Impl::averages_best() const {
  return config_.checkpoint.average > 0 && config_.checkpoint.average_of == AverageOf::kBest;
}

/// Validates and exports a new best model; false if a stop was requested meanwhile, with nothing changed.
bool Trainer::Impl::validate(const std::stop_token& stop) {
  std::optional<ValidatedModel> validated = validate_snapshot(stop);
  if (!validated) return false;
  const bool best = early_stopping_.observe(state_.update, validated->result.value(config_.validation.metric));
  state_.validated = state_.update;
  unsaved_ = true;
  record_validation(validated->result, best);
  if (best) export_best(std::move(*validated));
  return true;
}

std::optional<Trainer::Impl::ValidatedModel> Trainer::Impl::validate_snapshot(const std::stop_token& stop) {
  try {
    ValidatedModel validated{.model = snapshot(), .update = state_.update, .result = {}};
    validated.model->parameters().prepare(*context_, tensor::ComputeType::kF32);
    validated.result = validator_->run(*validated.model, environment_.progress, stop);
    return validated;
  } catch (const core::Error& error) {
    if (error.code() == ErrorCode::kInterrupted) return std::nullopt;
    rescue();
    throw;
  } catch (...) {
    rescue();
    throw;
  }
}

void Trainer::Impl::record_validation(const ValidationResult& result, bool best) {
  Json line = {{"type", "validation"},
               {"update", state_.update},
               {"epoch", state_.epoch},
               {"loss", result.loss},
               {"perplexity", result.perplexity}};
  for (const auto* score : {&result.bleu, &result.chrf})
    if (score->has_value()) line[(*score)->name] = (*score)->value;
  line["best"] = best;
  run_log_->append(line);
  for (const ValidationSample& sample : result.samples) {
    log("source:     " + sample.source);
    log("prediction: " + sample.prediction);
    log("reference:  " + sample.reference);
  }
  log(fmt::format("update {}, epoch {}: {}{}", state_.update, state_.epoch + 1, describe(result),
                  best ? " (best so far)" : ""));
}

void Trainer::Impl::save_checkpoint() {
  state_.metric_lines = run_log_->lines();
  state_.early_stopping = early_stopping_.save();
  store_.save(state_.update, [&](const fs::path& checkpoint) {
    save_tensors(checkpoint / "model.safetensors", parameter_views(model_->parameters()));
    save_tensors(checkpoint / "first_moment.safetensors", optimizer_->first_moments());
    save_tensors(checkpoint / "second_moment.safetensors", optimizer_->second_moments());
    if (optimizer_->has_average()) save_tensors(checkpoint / "average.safetensors", optimizer_->averages());
    core::write_file(checkpoint / "state.json", to_json(state_).dump(2) + "\n");
  });
  saved_update_ = state_.update;
  unsaved_ = false;
  const std::vector<std::int64_t> wanted = updates_of_mean();
  store_.prune(config_.checkpoint.keep, {wanted.begin(), wanted.end()});
}

/// What was trained since the last checkpoint outlives an error that has nothing to do with it.
void Trainer::Impl::rescue() noexcept {
  if (!unsaved_) return;
  try {
    save_checkpoint();
  } catch (const std::exception& error) {
    core::log(environment_.log, core::LogLevel::kWarning, error.what());
  }
}

void Trainer::Impl::interrupt() {
  if (unsaved_) save_checkpoint();
  if (unwritten_best_) export_best(std::move(*unwritten_best_));
  if (saved_update_ < 0)
    core::fail(ErrorCode::kInterrupted, "training interrupted before the first update; there is nothing to resume");
  core::fail(ErrorCode::kInterrupted,
             "training interrupted after update {}; the state is saved in {}, continue with --resume", state_.update,
             store_.path(state_.update).string());
}

TrainingSummary Trainer::Impl::run(const std::stop_token& stop) {
  while (true) {
    // First, since a validation takes memory and time of its own and may fail.
    if (checkpoint_due()) save_checkpoint();
    if (validation_due() && !validate(stop)) interrupt();
    if (ranked_checkpoint_due()) save_checkpoint();
    if (at_end()) return finish(stop);
    if (stop.stop_requested()) interrupt();
    train_one_update();
  }
}

// --- the end ---

TrainingSummary Trainer::Impl::finish(const std::stop_token& stop) {
  // Before the last validation, which a longer run would not make: so a run that is continued with more updates equals
  // one that had them from the start.
  if (unsaved_) save_checkpoint();
  if (validator_ && state_.validated != state_.update && !validate(stop)) interrupt();
  const bool more_updates = config_.training.updates == 0 || state_.update < config_.training.updates;
  const bool more_epochs = config_.training.epochs == 0 || state_.epoch < config_.training.epochs;
  TrainingSummary summary{.updates = state_.update,
                          .epochs = state_.epoch,
                          .stopped_early = more_updates && more_epochs,
                          .training_loss = last_loss_,
                          .best = {},
                          .last_checkpoint = store_.path(state_.update),
                          .model = file("last")};
  exports_->write("last", *snapshot(), {.title = "the last state of the run", .update = state_.update});
  if (unwritten_best_) export_best(std::move(*unwritten_best_));
  if (!early_stopping_.ranking().empty()) {
    summary.best = early_stopping_.ranking().front();
    summary.model = file("best");
  }
  if (config_.checkpoint.average > 0) export_average(summary, stop);
  exports_->require_written(summary.last_checkpoint);
  return summary;
}

/// The updates whose checkpoints the mean at the end is taken of, as it would be taken now.
std::vector<std::int64_t> Trainer::Impl::updates_of_mean() const {
  std::vector<std::int64_t> wanted;
  if (averages_best())
    for (const ScoredUpdate& best : early_stopping_.ranking()) wanted.push_back(best.update);
  if (config_.checkpoint.average_of == AverageOf::kLast) {
    // Not those that owe their existence to an interruption, which must not change the result.
    const std::int64_t every = config_.checkpoint.every;
    for (const std::int64_t update : store_.updates())
      if ((every > 0 && update % every == 0) || (update == state_.update && at_end())) wanted.push_back(update);
    const auto most = static_cast<std::size_t>(config_.checkpoint.average);
    if (wanted.size() > most) wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(most));
  }
  std::ranges::sort(wanted);
  return wanted;
}

std::vector<fs::path> Trainer::Impl::checkpoints_to_average() const {
  std::vector<fs::path> files;
  for (const std::int64_t update : updates_of_mean()) {
    const fs::path checkpoint = store_.path(update);
    const fs::path file = checkpoint / (optimizer_->has_average() ? "average.safetensors" : "model.safetensors");
    if (!fs::exists(file)) continue;
    open_checkpoint(checkpoint);  // for the sums
    files.push_back(file);
  }
  return files;
}

void Trainer::Impl::export_average(TrainingSummary& summary, const std::stop_token& stop) {
  const std::vector<fs::path> files = checkpoints_to_average();
  if (files.empty()) return;
  const auto model = make_model(config_, environment_, spec_, device_);
  average_tensors(files, model->parameters());
  ModelOrigin origin{.title = fmt::format("the mean of {} checkpoints", files.size()), .update = state_.update};
  if (!validator_) {
    exports_->write("average", *model, origin);
    return;
  }
  model->parameters().prepare(*context_, tensor::ComputeType::kF32);
  const ValidationResult result = validator_->run(*model, environment_.progress, stop);
  log(fmt::format("{}: {}", origin.title, describe(result)));
  origin.scores = &result;
  exports_->write("average", *model, origin);
  const double value = result.value(config_.validation.metric);
  const bool higher = higher_is_better(config_.validation.metric);
  if (summary.best && (higher ? value > summary.best->value : value < summary.best->value))
    summary.model = file("average");
}

/// The parameters that translation would use, in a model of their own, without gradients.
std::unique_ptr<nn::Seq2SeqModel> Trainer::Impl::snapshot() const {
  auto model = make_model(config_, environment_, spec_, device_);
  tensor::copy(context_->memory(), model->parameters().flat_values(), optimizer_->averaged_values());
  return model;
}

void Trainer::Impl::export_best(ValidatedModel best) {
  const bool written =
      exports_->write("best", *best.model,
                      {.title = "the best validated state of the run", .update = best.update, .scores = &best.result});
  unwritten_best_.reset();
  if (!written) unwritten_best_ = std::move(best);
}

// --- the facade ---

Trainer::Trainer(TrainingConfig config, TrainerEnvironment environment, StartMode mode, const std::stop_token& stop)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(environment), mode, stop)) {}
Trainer::~Trainer() = default;

TrainingSummary Trainer::run(const std::stop_token& stop) {
  return impl_->run(stop);
}
const nn::Seq2SeqModel& Trainer::model() const noexcept {
  return impl_->model();
}

}  // namespace dragoman::training
