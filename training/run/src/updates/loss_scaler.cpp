#include "updates/loss_scaler.h"

#include <algorithm>

#include <dragoman/core/json.h>

namespace dragoman::training {

void LossScaler::begin() const {
  TrainingState& state = progress_->state;
  const LossScaleConfig& config = recipe_->loss_scale;
  if (recipe_->compute != tensor::ComputeChoice::kF16)
    state.loss_scale = state.loss_scale_updates = 0;  // a fork may have changed the type
  else
    state.loss_scale = state.loss_scale == 0 ? config.initial : std::clamp(state.loss_scale, config.least, config.most);
}

bool LossScaler::leave_out(const TrainingState& after) const {
  TrainingState& state = progress_->state;
  if (state.loss_scale <= recipe_->loss_scale.least) return false;
  state.loss_scale /= 2;
  state.loss_scale_updates = 0;
  state.stand_where(after);
  progress_->unsaved = true;
  progress_->append({{"type", "loss_scale"},
                     {"update", state.update},
                     {"epoch", state.epoch_of_update()},
                     {"loss_scale", state.loss_scale}});
  return true;
}

void LossScaler::count(TrainingState& state) const {
  const LossScaleConfig& config = recipe_->loss_scale;
  if (state.loss_scale == 0) return;
  ++state.loss_scale_updates;
  if (config.grow_after == 0 || state.loss_scale_updates < config.grow_after || state.loss_scale >= config.most) return;
  state.loss_scale *= 2;
  state.loss_scale_updates = 0;
}

}  // namespace dragoman::training
