#pragma once

#include "records/checkpoint_keeper.h"
#include "updates/loss_scaler.h"
#include "updates/non_finite_updates.h"
#include "updates/training_meter.h"

#include <chrono>
#include <functional>
#include <stop_token>

namespace dragoman::training {

/// Computes updates, has the device apply them, and moves the run past them when they are known to be applied.
///
/// If the host would have to wait for a device, it queues an update before it reads the outcome of the previous one.
/// The device skips an update that is not finite, and all updates that depend on it. An update that was queued too
/// early has therefore changed nothing, and is computed again. Results equal those of one update after the other. All
/// references must outlive the object.
class UpdateRunner {
 public:
  UpdateRunner(RunParts& run, RunProgress& progress, CheckpointKeeper& checkpoints);

  /// Must be called after the initial or resumed position of the run is known.
  void begin() const { loss_scaler_.begin(); }
  /// Runs the next updates, up to a position for which `pauses` is true, or to a stop. On return, none is in flight.
  void run(const std::stop_token& stop, const std::function<bool(const TrainingState&)>& pauses);
  /// Undoes the last update, after which parameters are not finite (NonFiniteUpdates).
  void undo_last() { non_finite_.undo_update(); }
  /// Returns whether a process had a stop request when its last update was computed.
  bool stop_wanted() const noexcept { return stop_wanted_; }
  double last_loss() const noexcept { return meter_.last_loss(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct InFlight {
    TrainingState after;  ///< the position of the run after the update
    std::int64_t tokens = 0;
    double learning_rate = 0;
    PendingUpdate pending;
  };

  /// Queues the update after `state`. `depends_on_previous`: the outcome of the previous update is not known yet.
  InFlight queue(const TrainingState& state, bool depends_on_previous, const std::stop_token& stop);
  /// Waits for the update after the run's state. Returns false if it was not applied.
  bool settle(const InFlight& update);
  /// Returns the learning rate of the update after `state`.
  double learning_rate(const TrainingState& state) const;

  RunParts* run_;
  RunProgress* progress_;
  LossScaler loss_scaler_;
  NonFiniteUpdates non_finite_;
  TrainingMeter meter_;
  Clock::time_point settled_;  ///< time of the last settle()
  bool stop_wanted_ = false;
};

}  // namespace dragoman::training
