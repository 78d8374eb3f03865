#include "dragoman/training/trainer.h"

#include "export.h"
#include "gradient_accumulator.h"
#include "run_setup.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <dragoman/core/file.h>
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
  // Set-up.
  std::unique_ptr<Corpus> read_validation(const std::stop_token& stop);
  void start_fresh(const Json& record);
  void resume(const Json& record, bool fork);
  TrainingState load_last_checkpoint();
  void load_checkpoint(const fs::path& folder, TrainingState& state);

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
  bool validate(const std::stop_token& stop);
  void record_validation(const ValidationResult& result, bool best);
  void save_checkpoint();
  bool averages_best() const;
  [[noreturn]] void interrupt();

  // The end.
  TrainingSummary finish(const std::stop_token& stop);
  void export_average(TrainingSummary& summary, const std::stop_token& stop);
  std::vector<fs::path> checkpoints_to_average() const;

  std::unique_ptr<nn::Seq2SeqModel> snapshot() const;
  void export_as(const char* name, const nn::Seq2SeqModel& model, const std::string& title,
                 const ValidationResult* scores) const;
  fs::path folder(const char* name) const { return fs::path(config_.output) / name; }
  void log(const std::string& message) const { core::log(environment_.log, core::LogLevel::kInfo, message); }

  TrainingConfig config_;
  TrainerEnvironment environment_;
  tensor::Device device_;
  std::unique_ptr<core::Executor> executor_;
  std::unique_ptr<tensor::Context> context_;
  TokenizerPair tokenizers_;
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

  double last_loss_ = 0;
  double window_seconds_ = 0;
  double tokens_per_second_ = 0;  ///< a moving average, for the eye
};

// --- set-up ---

Trainer::Impl::Impl(TrainingConfig config, TrainerEnvironment environment, StartMode mode, const std::stop_token& stop)
    : config_(std::move(config)),
      environment_(std::move(environment)),
      device_(runtime::parse_device(config_.device)),
      executor_(core::make_executor(config_.threads)),
      context_(environment_.runtime->make_context(device_, *executor_)),
      tokenizers_(load_tokenizers(config_.data)),
      spec_(make_spec(config_, tokenizers_)),
      model_(make_model(config_, environment_, spec_, device_)),
      store_(config_.output),
      early_stopping_(early_stopping_options(config_)) {
  core::require(mode != StartMode::kFresh || store_.updates().empty(), ErrorCode::kInvalidArgument,
                "{}: holds a training run already; continue it with --resume, or name another folder as output",
                config_.output);
  core::require(mode == StartMode::kFresh || !store_.updates().empty(), ErrorCode::kInvalidArgument,
                "{}: holds no checkpoint to resume from; start without --resume", config_.output);
  train_ = std::make_unique<Corpus>(config_.data.train, tokenizers_, training_corpus_options(config_, spec_),
                                    *executor_, environment_.progress, stop);
  log_counts(environment_.log, "training data", *train_);
  validation_ = read_validation(stop);
  model_->parameters().attach_gradients(environment_.runtime->allocator(device_));
  optimizer_ =
      std::make_unique<Optimizer>(model_->parameters(), environment_.runtime->allocator(device_),
                                  config_.training.optimizer, config_.training.clip_norm, config_.training.ema_decay);
  gradients_ = std::make_unique<GradientAccumulator>(config_, *model_, *train_, *context_);
  const Json record = make_run_record(config_, environment_.build, *model_, *train_, validation_.get());
  if (mode == StartMode::kFresh)
    start_fresh(record);
  else
    resume(record, mode == StartMode::kFork);
  log(fmt::format("{} parameters, {} threads", model_->parameters().count(), executor_->threads()));
}

std::unique_ptr<Corpus> Trainer::Impl::read_validation(const std::stop_token& stop) {
  if (config_.data.validation.empty()) return nullptr;
  auto corpus = std::make_unique<Corpus>(config_.data.validation, tokenizers_, validation_corpus_options(spec_),
                                         *executor_, environment_.progress, stop);
  log_counts(environment_.log, "validation data", *corpus);
  validator_.emplace(*corpus, tokenizers_, config_.validation, *environment_.runtime, device_, *executor_);
  return corpus;
}

void Trainer::Impl::start_fresh(const Json& record) {
  model_->parameters().initialise(config_.training.seed);
  if (optimizer_->has_average()) optimizer_->start_average();
  std::error_code error;
  fs::create_directories(config_.output, error);
  core::require(!error, ErrorCode::kIo, "{}: cannot make the output folder: {}", config_.output, error.message());
  record_ = record;
  core::write_file(folder("run.json"), record_.dump(2) + "\n");
  run_log_.emplace(folder("metrics.jsonl"), 0);
}

void Trainer::Impl::resume(const Json& record, bool fork) {
  const std::string record_file = folder("run.json").string();
  check_same_run(core::load_json(record_file), record, fork, record_file, environment_.log);
  record_ = record;
  state_ = load_last_checkpoint();
  store_.remove_after(state_.update);
  early_stopping_.restore(state_.early_stopping, "early_stopping");
  saved_update_ = state_.update;
  core::write_file(record_file, record_.dump(2) + "\n");
  run_log_.emplace(folder("metrics.jsonl"), state_.metric_lines);
  log(fmt::format("resumed after update {}, epoch {}", state_.update, state_.epoch + 1));
}

TrainingState Trainer::Impl::load_last_checkpoint() {
  const std::vector<std::int64_t> updates = store_.updates();
  for (auto update = updates.rbegin();; ++update) {
    TrainingState state;
    try {
      load_checkpoint(store_.path(*update), state);
      return state;
    } catch (const core::Error& error) {
      if (std::next(update) == updates.rend()) throw;
      core::log(environment_.log, core::LogLevel::kWarning,
                fmt::format("{}; falling back to the checkpoint before it", error.what()));
    }
  }
}

void Trainer::Impl::load_checkpoint(const fs::path& checkpoint, TrainingState& state) {
  const std::string state_file = (checkpoint / "state.json").string();
  state = read_training_state(core::load_json(state_file), state_file);
  load_tensors(checkpoint / "model.safetensors", parameter_views(model_->parameters()));
  load_tensors(checkpoint / "first_moment.safetensors", optimizer_->first_moments());
  load_tensors(checkpoint / "second_moment.safetensors", optimizer_->second_moments());
  if (!optimizer_->has_average()) return;
  if (fs::exists(checkpoint / "average.safetensors"))
    load_tensors(checkpoint / "average.safetensors", optimizer_->averages());
  else
    optimizer_->start_average();
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
  if (!unsaved_) return false;
  const std::int64_t every = config_.checkpoint.every;
  if (every > 0 && state_.update % every == 0) return true;
  // What may be averaged at the end must exist by then.
  if (!averages_best()) return false;
  for (const ScoredUpdate& best : early_stopping_.ranking())
    if (best.update == state_.update) return true;
  return false;
}

bool Trainer::Impl::averages_best() const {
  return config_.checkpoint.average > 0 && config_.checkpoint.average_of == AverageOf::kBest;
}

/// Validates and exports a new best model; false if a stop was requested meanwhile, with nothing changed.
bool Trainer::Impl::validate(const std::stop_token& stop) {
  const std::unique_ptr<nn::Seq2SeqModel> model = snapshot();
  model->parameters().prepare(*context_, tensor::ComputeType::kF32);
  ValidationResult result;
  try {
    result = validator_->run(*model, environment_.progress, stop);
  } catch (const core::Error& error) {
    if (error.code() == ErrorCode::kInterrupted) return false;
    throw;
  }
  const bool best = early_stopping_.observe(state_.update, result.value(config_.validation.metric));
  state_.validated = state_.update;
  record_validation(result, best);
  if (best) export_as("best", *model, "the best validated state of the run", &result);
  unsaved_ = true;
  return true;
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
  std::set<std::int64_t> keep_also;
  if (averages_best())
    for (const ScoredUpdate& best : early_stopping_.ranking()) keep_also.insert(best.update);
  std::int64_t keep = config_.checkpoint.keep;
  if (config_.checkpoint.average_of == AverageOf::kLast) keep = std::max(keep, config_.checkpoint.average);
  store_.prune(keep, keep_also);
}

void Trainer::Impl::interrupt() {
  if (unsaved_) save_checkpoint();
  if (saved_update_ < 0)
    core::fail(ErrorCode::kInterrupted, "training interrupted before the first update; there is nothing to resume");
  core::fail(ErrorCode::kInterrupted,
             "training interrupted after update {}; the state is saved in {}, continue with --resume", state_.update,
             store_.path(state_.update).string());
}

TrainingSummary Trainer::Impl::run(const std::stop_token& stop) {
  while (true) {
    if (validation_due() && !validate(stop)) interrupt();
    if (checkpoint_due()) save_checkpoint();
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
                          .model = folder("last")};
  export_as("last", *snapshot(), "the last state of the run", nullptr);
  if (!early_stopping_.ranking().empty()) {
    summary.best = early_stopping_.ranking().front();
    summary.model = folder("best");
  }
  if (config_.checkpoint.average > 0) export_average(summary, stop);
  return summary;
}

std::vector<fs::path> Trainer::Impl::checkpoints_to_average() const {
  std::vector<std::int64_t> wanted;
  if (averages_best()) {
    for (const ScoredUpdate& best : early_stopping_.ranking()) wanted.push_back(best.update);
  } else {
    wanted = store_.updates();
    const auto most = static_cast<std::size_t>(config_.checkpoint.average);
    if (wanted.size() > most) wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(most));
  }
  std::ranges::sort(wanted);
  std::vector<fs::path> files;
  for (const std::int64_t update : wanted) {
    const fs::path checkpoint = store_.path(update);
    const fs::path file = checkpoint / (optimizer_->has_average() ? "average.safetensors" : "model.safetensors");
    if (fs::exists(file)) files.push_back(file);
  }
  return files;
}

void Trainer::Impl::export_average(TrainingSummary& summary, const std::stop_token& stop) {
  const std::vector<fs::path> files = checkpoints_to_average();
  if (files.empty()) return;
  const auto model = make_model(config_, environment_, spec_, device_);
  average_tensors(files, model->parameters());
  const std::string title = fmt::format("the mean of {} checkpoints", files.size());
  if (!validator_) {
    export_as("average", *model, title, nullptr);
    return;
  }
  model->parameters().prepare(*context_, tensor::ComputeType::kF32);
  const ValidationResult result = validator_->run(*model, environment_.progress, stop);
  log(fmt::format("{}: {}", title, describe(result)));
  export_as("average", *model, title, &result);
  const double value = result.value(config_.validation.metric);
  const bool higher = higher_is_better(config_.validation.metric);
  if (summary.best && (higher ? value > summary.best->value : value < summary.best->value))
    summary.model = folder("average");
}

/// The parameters that translation would use, in a model of their own, without gradients.
std::unique_ptr<nn::Seq2SeqModel> Trainer::Impl::snapshot() const {
  auto model = make_model(config_, environment_, spec_, device_);
  const tensor::Tensor from = optimizer_->averaged_values();
  const tensor::Tensor to = model->parameters().flat_values();
  std::memcpy(to.data, from.data, static_cast<std::size_t>(from.size()) * tensor::size_of(from.dtype));
  return model;
}

void Trainer::Impl::export_as(const char* name, const nn::Seq2SeqModel& model, const std::string& title,
                              const ValidationResult* scores) const {
  const std::string plugin = environment_.plugin_of ? environment_.plugin_of(config_.model.type) : std::string();
  export_model(folder(name), model, config_, {title, state_.update, scores, record_, plugin});
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
