#include "updates/update_runner.h"

#include <algorithm>
#include <cmath>

namespace dragoman::training {

UpdateRunner::UpdateRunner(RunParts& run, RunProgress& progress, CheckpointKeeper& checkpoints)
    : run_(&run),
      progress_(&progress),
      loss_scaler_(run.config.training, progress),
      non_finite_(run, progress, checkpoints),
      meter_(run.config.training, *run.gradients, run.environment.progress, progress) {}

void UpdateRunner::run(const std::stop_token& stop, const std::function<bool(const TrainingState&)>& pauses) {
  settled_ = Clock::now();
  // Several processes must agree after each update.
  const bool runs_ahead = run_->ranks->alone() && !run_->context->memory().host_readable();
  InFlight update = queue(progress_->state, false, stop);
  while (runs_ahead && !stop.stop_requested() && !pauses(update.after)) {
    run_->folder.require_still_there();
    InFlight next = queue(update.after, true, stop);
    if (!settle(update)) return;
    update = std::move(next);
  }
  settle(update);
}

UpdateRunner::InFlight UpdateRunner::queue(const TrainingState& state, bool depends_on_previous,
                                           const std::stop_token& stop) {
  const double rate = learning_rate(state);
  const UpdateGradients gradients = run_->gradients->compute(state, stop.stop_requested());
  stop_wanted_ = gradients.stop_wanted;
  run_->optimizer->apply(*run_->context, {.update = state.update + 1,
                                          .learning_rate = rate,
                                          .clip_value = run_->config.training.clip_value,
                                          .loss_scale = std::max<std::int64_t>(state.loss_scale, 1),
                                          .losses = gradients.losses,
                                          .depends_on_previous = depends_on_previous});
  InFlight update{
      .after = state, .tokens = gradients.tokens, .learning_rate = rate, .pending = run_->optimizer->last()};
  if (run_->adapters) run_->adapters->merge(*run_->context);
  run_->gradients->advance(update.after, gradients);
  loss_scaler_.count(update.after);
  return update;
}

bool UpdateRunner::settle(const InFlight& update) {
  const ops::UpdateRecord record = update.pending.wait();
  if (record.step.skip != 0) {
    // Too large a scale makes gradients infinite, but not the loss.
    if (std::isfinite(record.losses.loss) && loss_scaler_.leave_out(update.after))
      meter_.pass_by(update.learning_rate);
    else
      non_finite_.leave_out(update.after, {.loss = record.losses.loss, .gradient_norm = record.gradient_norm});
    return false;
  }
  TrainingState& state = progress_->state;
  state.stand_where(update.after);
  state.loss_scale = update.after.loss_scale;
  state.loss_scale_updates = update.after.loss_scale_updates;
  state.restored = -1;
  progress_->unsaved = true;
  const Clock::time_point now = Clock::now();
  meter_.count({.losses = record.losses,
                .tokens = update.tokens,
                .learning_rate = update.learning_rate,
                .gradient_norm = record.gradient_norm,
                .seconds = std::chrono::duration<double>(now - settled_).count()});
  settled_ = now;
  return true;
}

double UpdateRunner::learning_rate(const TrainingState& state) const {
  const TrainConfig& recipe = run_->config.training;
  const std::int64_t update = state.update + 1;
  if (recipe.optimizer.relative_step) return relative_step_at(update);
  return learning_rate_at(
      update, recipe.schedule,
      {.updates = recipe.updates, .model_width = run_->model->width(), .reductions = progress_->plateau.reductions()});
}

}  // namespace dragoman::training
