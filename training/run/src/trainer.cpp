#include "dragoman/training/trainer.h"

#include "data/data_account.h"
#include "models/model_selector.h"
#include "records/checkpoint_keeper.h"
#include "run_parts.h"
#include "run_progress.h"
#include "start/agreement.h"
#include "start/run_embeddings.h"
#include "start/run_setup.h"
#include "updates/update_runner.h"

#include <algorithm>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/training/run_files.h>

namespace dragoman::training {

using core::ErrorCode;

class Trainer::Impl {
 public:
  Impl(TrainingConfig config, TrainerEnvironment environment, StartMode mode, const std::stop_token& stop);
  TrainingSummary run(const std::stop_token& stop);
  const nn::Seq2SeqModel& model() const noexcept { return *parts_.model; }

 private:
  void start_fresh(const std::stop_token& stop);
  void note_fork(const std::string& changed);
  void note_resume(const core::Json& before);
  void warn_of_short_run();
  void resume(bool fork);
  void keep_base();
  void restore_base();
  void record_run() const;
  /// Does the work after an update: checkpoint, validation, the end. Rank 0 decides for all.
  NextStep decide(const std::stop_token& stop);
  /// Returns whether decide() may have something to do at this position.
  bool pauses_at(const TrainingState& state) const;
  void save_checkpoint();
  void save_and_conclude();
  TrainingSummary finish(const std::stop_token& stop);
  TrainingSummary follow_to_the_end();
  [[noreturn]] void interrupt();

  RunParts parts_;
  RunProgress progress_;
  CheckpointKeeper checkpoints_;
  ModelSelector models_;
  UpdateRunner updates_;
};

Trainer::Impl::Impl(TrainingConfig config, TrainerEnvironment environment, StartMode mode, const std::stop_token& stop)
    : parts_(std::move(config), std::move(environment), mode, stop),
      progress_(parts_.config),
      checkpoints_(parts_, progress_),
      models_(parts_, progress_, checkpoints_),
      updates_(parts_, progress_, checkpoints_) {
  if (mode == StartMode::kFresh)
    start_fresh(stop);
  else
    resume(mode == StartMode::kFork);
  require_agreement(parts_, progress_.state, mode);
  const std::int64_t count = model().parameters().count(), trained = parts_.trained().count_trained();
  std::string which;
  if (parts_.adapters)
    which = fmt::format(" and {} of adapters, which are trained", trained);
  else if (trained < count)
    which = fmt::format(", {} of them trained", trained);
  parts_.log(fmt::format("{} parameters{}, {} threads", count, which, parts_.executor->threads()));
  if (!parts_.ranks->alone())
    parts_.log(fmt::format(
        "{} processes by {}: {} batches an update, {} of each", parts_.ranks->size(),
        parts_.environment.links == nullptr
            ? parts_.ranks->describe()
            : fmt::format("{}, gradients by {}", parts_.ranks->describe(), parts_.environment.links->describe()),
        parts_.config.training.accumulate, parts_.config.training.accumulate / parts_.ranks->size()));
}

void Trainer::Impl::start_fresh(const std::stop_token& stop) {
  updates_.begin();
  parts_.model->parameters().initialise(parts_.config.training.seed);
  if (parts_.start) parts_.start->load(*parts_.model, parts_.tokenizers);
  load_embeddings(parts_.config.data, parts_.tokenizers, *parts_.model, parts_.environment.log, stop);
  if (parts_.config.model.decoder_start == DecoderStart::kZeros) start_from_zeros(*parts_.model);
  if (parts_.adapters) {
    parts_.adapters->parameters().initialise(parts_.config.training.seed);
    parts_.adapters->keep_base();
  }
  if (parts_.optimizer->has_average()) parts_.optimizer->start_average();
  if (!parts_.ranks->leads()) return;
  record_run();
  if (parts_.adapters) keep_base();
  progress_.open_logs(parts_.folder, parts_.config.logging);
  // The checkpoint to which the first updates can be undone.
  if (parts_.config.training.on_non_finite == NonFinitePolicy::kRestore) checkpoints_.save();
  warn_of_short_run();
}

/// Checkpoints contain adapters only, so the base model is stored once. This happens after the record which shows that
/// the folder belongs to a run and which has the sums of the base.
void Trainer::Impl::keep_base() {
  models_.write_base();
  parts_.record["sha256"][RunFiles::kBaseWeights] = formats::sha256_of_file(parts_.folder.file(RunFiles::kBaseWeights));
  record_run();
}

void Trainer::Impl::restore_base() {
  load_base(parts_.folder, parts_.model->parameters());
  parts_.adapters->keep_base();
  parts_.record["sha256"][RunFiles::kBaseWeights] = parts_.folder.recorded_sum(RunFiles::kBaseWeights);
}

/// The defaults are for large corpora. With a small corpus the learning rate may never reach its peak.
void Trainer::Impl::warn_of_short_run() {
  const TrainConfig& recipe = parts_.config.training;
  std::int64_t updates = recipe.updates > 0 ? recipe.updates : std::numeric_limits<std::int64_t>::max();
  if (recipe.epochs > 0) {
    parts_.gradients->plan_epoch(progress_.state);
    updates = std::min(updates, recipe.epochs * parts_.gradients->updates_per_epoch());
  }
  if (updates <= recipe.schedule.warmup && !recipe.optimizer.relative_step)
    parts_.warn(
        fmt::format("training ends after about {} updates, within the warm-up of {}, so the learning rate never "
                    "gets to its peak; shorten training.schedule.warmup, or train for longer",
                    updates, recipe.schedule.warmup));
}

void Trainer::Impl::resume(bool fork) {
  const RunFolder& folder = parts_.folder;
  // require_agreement() checks that the other processes do the same as rank 0.
  const std::string changed = parts_.ranks->leads()
                                  ? check_same_run(folder.record(), parts_.record, fork,
                                                   folder.file(RunFiles::kRecord).string(), parts_.environment.log)
                                  : std::string();
  core::require(
      parts_.adapters || folder.recorded_sum(RunFiles::kBaseWeights).empty(), ErrorCode::kBadInput,
      "training.lora: the run to be continued trained adapters; restore its rank, or train in another folder, "
      "with one of its models as model.from");
  if (parts_.adapters) restore_base();
  if (!parts_.ranks->leads()) parts_.ranks->barrier();
  checkpoints_.load_last();
  // Other data is cut into other windows.
  if (fork) progress_.state.window = progress_.state.window_begin = 0;
  updates_.begin();
  if (parts_.ranks->leads()) parts_.ranks->barrier();
  if (parts_.adapters) parts_.adapters->merge(*parts_.context);
  if (!parts_.ranks->leads()) return;
  note_fork(changed);
  record_run();
  const TrainingState& state = progress_.state;
  progress_.open_logs(folder, parts_.config.logging);
  if (const RunLog& metrics = *progress_.metrics; metrics.lines() < state.metric_lines)
    parts_.warn(
        fmt::format("{}: has {} lines from before the checkpoint, which was made after {}; it goes on from there",
                    folder.file(RunFiles::kMetrics).string(), metrics.lines(), state.metric_lines));
  parts_.log(fmt::format("resumed after update {}, epoch {}", state.update, state.epoch_of_update()));
}

/// Statements about a run in its models must also be true for the models after a fork.
void Trainer::Impl::note_fork(const std::string& changed) {
  const core::Json& before = parts_.folder.record();
  core::Json forks = before.value("forks", core::Json::array());
  if (!changed.empty()) forks.push_back({{"update", progress_.state.update}, {"changed", changed}});
  if (!forks.empty()) parts_.record["forks"] = std::move(forks);
  note_resume(before);
  if (changed.empty() || validates_alike(before, parts_.record) || progress_.early_stopping.ranking().empty()) return;
  progress_.early_stopping.restart();
  progress_.other_metrics.restart();
  parts_.warn(
      "validations of before the fork cannot be compared with those that come: the next one is the best so far, and "
      "what patience counts begins anew");
}

/// Records the positions of interruptions, for people who examine the run.
void Trainer::Impl::note_resume(const core::Json& before) {
  constexpr std::size_t kMaxResumes = 1000;
  core::Json resumes = before.value("resumes", core::Json::array());
  if (!resumes.is_array() || resumes.size() >= kMaxResumes) resumes = core::Json::array();
  resumes.push_back(progress_.state.update);
  parts_.record["resumes"] = std::move(resumes);
}

/// The copies are written before the record with their sums.
void Trainer::Impl::record_run() const {
  write_tokenizers(parts_.tokenizers, parts_.folder);
  write_data_account(parts_.folder.file(RunFiles::kData), *parts_.train, parts_.validation.get());
  write_run_record(parts_.record, parts_.folder.file(RunFiles::kRecord));
}

TrainingSummary Trainer::Impl::run(const std::stop_token& stop) {
  while (true) {
    const NextStep next = share_decision(*parts_.ranks, progress_, [&] { return decide(stop); });
    if (next == NextStep::kFinish) return finish(stop);
    if (next == NextStep::kInterrupt) interrupt();
    updates_.run(stop, [this](const TrainingState& state) { return pauses_at(state); });
    parts_.environment.runtime->log_notices(parts_.environment.log);
  }
}

NextStep Trainer::Impl::decide(const std::stop_token& stop) {
  parts_.folder.require_still_there();
  // The content of checkpoints and the end of training must not depend on the speed of a concurrent validation.
  models_.conclude(checkpoints_.due() || models_.due());
  // First, because a validation takes memory and time and may fail.
  if (checkpoints_.due()) save_checkpoint();
  if (parts_.config.validation.concurrent()) {
    // The last validation has no training to run concurrently with: finish() makes it.
    if (models_.due() && !progress_.at_end(parts_.config)) models_.begin();
  } else if (models_.due() && !models_.validate(stop)) {
    return NextStep::kInterrupt;
  }
  if (checkpoints_.due_for_mean()) checkpoints_.save();
  if (progress_.at_end(parts_.config)) return NextStep::kFinish;
  return stop.stop_requested() || updates_.stop_wanted() ? NextStep::kInterrupt : NextStep::kUpdate;
}

bool Trainer::Impl::pauses_at(const TrainingState& state) const {
  const TrainingConfig& config = parts_.config;
  return progress_.at_end(config, state) || checkpoint_scheduled(config.checkpoint, state) ||
         (parts_.validator && validation_scheduled(config.validation, state));
}

/// Parameters may be non-finite since the last update, and nothing has read them yet.
void Trainer::Impl::save_checkpoint() {
  if (parts_.config.training.on_non_finite == NonFinitePolicy::kRestore &&
      !parts_.optimizer->parameters_are_finite(*parts_.context))
    return updates_.undo_last();
  checkpoints_.save();
}

TrainingSummary Trainer::Impl::finish(const std::stop_token& stop) {
  if (!parts_.ranks->leads()) return follow_to_the_end();
  // Before waiting, which may take long, and before the last validation, which a longer run would not make: a run that
  // is continued with more updates then equals one that had them from the start.
  save_and_conclude();
  if (!models_.validate_last(stop)) interrupt();
  const TrainConfig& recipe = parts_.config.training;
  const TrainingState& state = progress_.state;
  const bool more_updates = recipe.updates == 0 || state.update < recipe.updates;
  const bool more_epochs = recipe.epochs == 0 || state.epoch < recipe.epochs;
  ModelSelector::Selected selected = models_.write_last_models(stop);
  // After a resume, models of the previous end still exist; this value distinguishes them from the models of this end.
  parts_.record["finished"] = state.update;
  write_run_record(parts_.record, parts_.folder.file(RunFiles::kRecord));
  parts_.ranks->close();
  return {.updates = state.update,
          .epochs = state.epoch,
          .stopped_early = more_updates && more_epochs,
          .training_loss = updates_.last_loss(),
          .metric = parts_.config.validation.metric.name(),
          .best = selected.best,
          .average = selected.average,
          .last_checkpoint = checkpoints_.path(state.update),
          .model = std::move(selected.model)};
}

/// Rank 0 still writes files when training is done.
TrainingSummary Trainer::Impl::follow_to_the_end() {
  parts_.ranks->close();
  const TrainingState& state = progress_.state;
  return {.updates = state.update,
          .epochs = state.epoch,
          .training_loss = updates_.last_loss(),
          .metric = {},
          .best = {},
          .average = {},
          .last_checkpoint = checkpoints_.path(state.update),
          .model = parts_.folder.path()};
}

/// Saved twice if a validation is in progress: an impatient user who kills the process loses only its result.
void Trainer::Impl::save_and_conclude() {
  if (progress_.unsaved) checkpoints_.save();
  models_.conclude(true);
  if (progress_.unsaved) checkpoints_.save();
}

void Trainer::Impl::interrupt() {
  const std::int64_t update = progress_.state.update;
  if (parts_.ranks->leads()) {
    save_and_conclude();
    models_.write_owed_best();
  }
  parts_.ranks->close();
  if (!parts_.ranks->leads())
    core::fail(ErrorCode::kInterrupted, "training interrupted after update {}; rank 0 has saved the state", update);
  if (checkpoints_.saved_update() < 0)
    core::fail(ErrorCode::kInterrupted, "training interrupted before the first update; there is nothing to resume");
  core::fail_option("resume", ErrorCode::kInterrupted,
                    "training interrupted after update {}; the state is saved in {}, continue with `resume`", update,
                    checkpoints_.path(update).string());
}

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
