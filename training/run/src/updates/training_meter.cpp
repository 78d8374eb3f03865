#include "updates/training_meter.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/json.h>
#include <dragoman/core/resident_memory.h>

namespace dragoman::training {

void TrainingMeter::count(const Update& update) {
  TrainingState& state = progress_->state;
  const auto tokens = static_cast<double>(update.tokens);
  last_loss_ = update.losses.loss / tokens;
  last_cross_entropy_ = update.losses.negative_log_likelihood / tokens;
  last_norm_ = update.gradient_norm;
  state.window_loss += update.losses.loss;
  state.window_nll += update.losses.negative_log_likelihood;
  state.window_alignment += update.losses.alignment;
  state.window_tokens += update.tokens;
  window_seconds_ += update.seconds;
  const double rate = tokens / update.seconds;
  tokens_per_second_ = tokens_per_second_ == 0 ? rate : 0.95 * tokens_per_second_ + 0.05 * rate;
  show_progress(update);
  if (state.update % recipe_->report_every == 0) append_line(update);
}

void TrainingMeter::append_line(const Update& update) {
  TrainingState& state = progress_->state;
  const auto tokens = static_cast<double>(state.window_tokens);
  core::Json line{{"type", "training"},
                  {"update", state.update},
                  {"epoch", state.epoch_of_update()},
                  {"loss", state.window_loss / tokens},
                  {"cross_entropy", state.window_nll / tokens},
                  {"perplexity", std::exp(state.window_nll / tokens)},
                  {"learning_rate", update.learning_rate},
                  {"gradient_norm", update.gradient_norm},
                  {"target_tokens", state.window_tokens},
                  {"seconds", window_seconds_},
                  {"data_seconds", gradients_->take_waiting()}};
  if (state.loss_scale > 0) line["loss_scale"] = state.loss_scale;
  if (gradients_->guides_alignment()) line["alignment_loss"] = state.window_alignment / tokens;
  progress_->append(line);
  state.window_loss = state.window_nll = state.window_alignment = window_seconds_ = 0;
  state.window_tokens = 0;
}

void TrainingMeter::show_progress(const Update& update) const {
  if (!*sink_) return;
  const TrainingState& state = progress_->state;
  std::int64_t total = recipe_->epochs * gradients_->updates_per_epoch();
  if (recipe_->updates > 0) total = total > 0 ? std::min(total, recipe_->updates) : recipe_->updates;
  // `loss` is the cross-entropy, as in validations. If the training loss is a different one, it is shown, too.
  core::Progress progress{
      .stage = "train",
      .done = static_cast<std::uint64_t>(state.update),
      .total = static_cast<std::uint64_t>(total),
      .unit = "updates",
      .figures = {{"epoch", static_cast<double>(state.epoch_of_update())}, {"loss", last_cross_entropy_}}};
  if (last_loss_ != last_cross_entropy_) progress.figures.emplace_back("smoothed loss", last_loss_);
  progress.figures.insert(progress.figures.end(), {{"tokens/s", tokens_per_second_},
                                                   {"lr", update.learning_rate},
                                                   {"gradient norm", update.gradient_norm},
                                                   {"memory MB", static_cast<double>(core::resident_memory()) / 1e6}});
  (*sink_)(progress);
}

}  // namespace dragoman::training
