#include "updates/non_finite_updates.h"

#include "update/first_non_finite.h"

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

constexpr const char* kAdvice = "lower training.schedule.learning_rate, lengthen its warm-up or set training.clip_norm";

}  // namespace

void NonFiniteUpdates::leave_out(const TrainingState& after, const Figures& figures) {
  TrainingState& state = progress_->state;
  const NonFinitePolicy policy = run_->config.training.on_non_finite;
  const std::string what = fmt::format(
      "update {} (epoch {}, batch {}): training diverged, the loss is {} and the norm of the gradient {}; {}",
      state.update + 1, state.epoch + 1, state.batch, figures.loss, figures.gradient_norm,
      first_non_finite({.recipe = run_->config.training,
                        .model = *run_->model,
                        .aligned = has_alignments(run_->config.data.train),
                        .batches = *run_->batches,
                        .context = *run_->context,
                        .kernels = run_->environment.runtime->kernels(run_->device)},
                       state));
  if (policy == NonFinitePolicy::kStop)
    core::fail(core::ErrorCode::kInvalidArgument, "{}; {}; {}", what, checkpoints_->kept(), kAdvice);
  count(what);
  state.stand_where(after);
  progress_->unsaved = true;
  core::Json line{{"type", "non_finite"}, {"update", state.update}, {"epoch", state.epoch_of_update()}, {"what", what}};
  if (policy == NonFinitePolicy::kRestore) {
    restore_parameters();
    line["restored"] = state.restored;
    run_->warn(fmt::format("{}; parameters go back to those after update {}", what, state.restored));
  } else {
    run_->warn(what + "; the update is skipped");
  }
  progress_->append(line);
}

void NonFiniteUpdates::undo_update() {
  const TrainingState& state = progress_->state;
  const std::string what = fmt::format("update {}: parameters are no longer finite numbers; {}", state.update,
                                       first_non_finite_parameter(run_->trained()));
  count(what);
  restore_parameters();
  run_->warn(fmt::format("{}; they go back to those after update {}", what, state.restored));
  progress_->append({{"type", "non_finite"},
                     {"update", state.update},
                     {"epoch", state.epoch_of_update()},
                     {"what", what},
                     {"restored", state.restored}});
}

void NonFiniteUpdates::restore_parameters() const {
  checkpoints_->restore_tensors();
  if (run_->adapters) run_->adapters->merge(*run_->context);
}

void NonFiniteUpdates::count(const std::string& what) const {
  const std::int64_t limit = run_->config.training.non_finite_limit;
  core::require(progress_->state.non_finite < limit, core::ErrorCode::kInvalidArgument,
                "{}; that is one more than training.non_finite_limit, {}; {}; {}", what, limit, checkpoints_->kept(),
                kAdvice);
  ++progress_->state.non_finite;
}

}  // namespace dragoman::training
