#pragma once

#include "records/checkpoint_keeper.h"
#include "updates/loss_scaler.h"
#include "updates/non_finite_updates.h"
#include "updates/training_meter.h"

#include <chrono>
#include <functional>
#include <stop_token>

namespace dragoman::training {

/// Computes updates, has the device apply them, and moves the run past them once it is known that they were applied.
///
/// Where the host would have to wait for a device, it queues an update before it looks at the one before. The device
/// skips an update that is not finite, and all that depend on it, so an update that was queued too early has changed
/// nothing and is computed again. Results are those of one update after the other. All references must outlive it.
class UpdateRunner {
 public:
  UpdateRunner(RunParts& run, RunProgress& progress, CheckpointKeeper& checkpoints);

  /// Where the run begins or goes on is known.
  void begin() const { loss_scaler_.begin(); }
  /// Takes the update that comes next, and those behind it up to where `pauses` says that there is something to decide,
  /// or to a stop; on return none is under way.
  void run(const std::stop_token& stop, const std::function<bool(const TrainingState&)>& pauses);
  /// Undoes the last update, which left parameters that are not finite (NonFiniteUpdates).
  void undo_last() { non_finite_.undo_update(); }
  /// Whether a process had been asked to stop when its last update was computed.
  bool stop_wanted() const noexcept { return stop_wanted_; }
  double last_loss() const noexcept { return meter_.last_loss(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct InFlight {
    TrainingState after;  ///< where the run stands when it has been applied
    std::int64_t tokens = 0;
    double learning_rate = 0;
    PendingUpdate pending;
  };

  /// The update that comes after `state`. `depends_on_previous`: the outcome of the previous one is not known yet.
  InFlight queue(const TrainingState& state, bool depends_on_previous, const std::stop_token& stop);
  /// Waits for the update, which comes after the run's state. False if it was not applied.
  bool settle(const InFlight& update);
  /// Of the update that comes after `state`.
  double learning_rate(const TrainingState& state) const;

  RunParts* run_;
  RunProgress* progress_;
  LossScaler loss_scaler_;
  NonFiniteUpdates non_finite_;
  TrainingMeter meter_;
  Clock::time_point settled_;  ///< when the last one was
  bool stop_wanted_ = false;
};

}  // namespace dragoman::training
