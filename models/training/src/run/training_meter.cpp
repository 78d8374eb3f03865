#include "run/training_meter.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/json.h>
#include <dragoman/core/resident_memory.h>

namespace dragoman::training {

void TrainingMeter::count(const Update& update) {
  TrainingState& state = progress_->state;
  const auto tokens = static_cast<double>(update.tokens);
  last_loss_ = update.losses.loss / tokens;
  last_norm_ = update.gradient_norm;
  state.window_loss += update.losses.loss;
  state.window_nll += update.losses.negative_log_likelihood;
  state.window_alignment += update.losses.alignment;
  state.window_tokens += update.tokens;
  window_seconds_ += update.seconds;
  const double rate = tokens / update.seconds;
  tokens_per_second_ = tokens_per_second_ == 0 ? rate : 0.95 * tokens_per_second_ + 0.05 * rate;
  show_progress(update);
  if (state.update % run_->config.training.report_every == 0) append_line(update);
}

void TrainingMeter::append_line(const Update& update) {
  TrainingState& state = progress_->state;
  const auto tokens = static_cast<double>(state.window_tokens);
  core::Json line{{"type", "training"},
                  {"update", state.update},
                  {"epoch", state.epoch},
                  {"loss", state.window_loss / tokens},
                  {"perplexity", std::exp(state.window_nll / tokens)},
                  {"learning_rate", update.learning_rate},
                  {"gradient_norm", update.gradient_norm},
                  {"target_tokens", state.window_tokens},
                  {"seconds", window_seconds_},
                  {"data_seconds", run_->gradients->take_waiting()}};
  if (state.loss_scale > 0) line["loss_scale"] = state.loss_scale;
  if (run_->gradients->guides_alignment()) line["alignment_loss"] = state.window_alignment / tokens;
  progress_->append(line);
  state.window_loss = state.window_nll = state.window_alignment = window_seconds_ = 0;
  state.window_tokens = 0;
}

void TrainingMeter::show_progress(const Update& update) const {
  const core::ProgressSink& sink = run_->environment.progress;
  if (!sink) return;
  const RecipeConfig& recipe = run_->config.training;
  const TrainingState& state = progress_->state;
  std::int64_t total = recipe.epochs * run_->gradients->updates_per_epoch();
  if (recipe.updates > 0) total = total > 0 ? std::min(total, recipe.updates) : recipe.updates;
  sink({.stage = "train",
        .done = static_cast<std::uint64_t>(state.update),
        .total = static_cast<std::uint64_t>(total),
        .unit = "updates",
        .figures = {{"epoch", static_cast<double>(state.epoch + 1)},
                    {"loss", last_loss_},
                    {"tokens/s", tokens_per_second_},
                    {"lr", update.learning_rate},
                    {"gradient norm", update.gradient_norm},
                    {"memory MB", static_cast<double>(core::resident_memory()) / 1e6}}});
}

}  // namespace dragoman::training
