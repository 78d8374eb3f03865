#pragma once

#include "run_progress.h"

namespace dragoman::training {

/// Sums the figures of updates and reports them: a line of metrics.jsonl every TrainConfig::report_every updates, and
/// progress with every update. All references must outlive the object.
class TrainingMeter {
 public:
  TrainingMeter(const TrainConfig& recipe, GradientAccumulator& gradients, const core::ProgressSink& sink,
                RunProgress& progress)
      : recipe_(&recipe), gradients_(&gradients), sink_(&sink), progress_(&progress) {}

  struct Update {
    ops::LossRecord losses;
    std::int64_t tokens = 0;
    double learning_rate = 0;
    double gradient_norm = 0;
    double seconds = 0;
  };
  /// Counts the update that progress.state has just moved past.
  void count(const Update& update);
  /// Shows progress after an update that changed nothing.
  void pass_by(double learning_rate) const {
    show_progress({.losses = {}, .learning_rate = learning_rate, .gradient_norm = last_norm_});
  }
  /// Returns the label-smoothed loss of the last update per target token; 0 if there was none.
  double last_loss() const noexcept { return last_loss_; }

 private:
  void append_line(const Update& update);
  void show_progress(const Update& update) const;

  const TrainConfig* recipe_;
  GradientAccumulator* gradients_;
  const core::ProgressSink* sink_;
  RunProgress* progress_;
  double last_loss_ = 0;
  double last_cross_entropy_ = 0;  ///< without label smoothing and other terms of the loss
  double last_norm_ = 0;
  double window_seconds_ = 0;
  double tokens_per_second_ = 0;  ///< a moving average for display
};

}  // namespace dragoman::training
