#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/json.h>

namespace dragoman::training {

/// The state of a run between two updates. Together with parameters and moments it determines everything that follows:
/// all randomness is counter-based, so there is no generator state.
struct TrainingState {
  std::int64_t update = 0;  ///< updates done
  std::int64_t epoch = 0;   ///< whole epochs done
  std::int64_t batch = 0;   ///< the next batch of the epoch
  /// The window of blocks that contains this batch, and the first batch of the epoch in that window. They save
  /// rebuilding the previous windows to find where it begins. Zeros are valid for every batch, but slow.
  std::int64_t window = 0;
  std::int64_t window_begin = 0;
  /// The last update that was validated, -1 if none.
  std::int64_t validated = -1;
  /// Lines of metrics.jsonl at this point.
  std::uint64_t metric_lines = 0;
  /// Sums since the last line of metrics.jsonl.
  double window_loss = 0;
  double window_nll = 0;
  double window_alignment = 0;
  std::int64_t window_tokens = 0;
  core::Json early_stopping = core::Json::object();
  /// The state of the schedule `plateau`.
  core::Json plateau = core::Json::object();
  /// The number of updates that were skipped or undone because of a non-finite value.
  std::int64_t non_finite = 0;
  /// The checkpoint that the parameters went back to last, if no update has been applied since; else -1.
  std::int64_t restored = -1;
  /// The factor of the loss's gradient where weights are multiplied in fp16, 0 elsewhere; and the number of updates
  /// since it last changed.
  std::int64_t loss_scale = 0;
  std::int64_t loss_scale_updates = 0;
  /// The optimiser whose moments these are, the files that hold them, and the update after which they began.
  std::string optimizer = "adamw";
  std::vector<std::string> optimizer_states = {"first_moment", "second_moment"};
  std::int64_t optimizer_begun_after = 0;

  /// Returns the epoch of the last update, counted from 1; 0 before the first update. Logs and metrics.jsonl show this
  /// one as `epoch`.
  std::int64_t epoch_of_update() const noexcept { return update == 0 ? 0 : batch == 0 ? epoch : epoch + 1; }

  /// Copies the position, which is the next update and batch, from `other`.
  void stand_where(const TrainingState& other) noexcept {
    update = other.update;
    epoch = other.epoch;
    batch = other.batch;
    window = other.window;
    window_begin = other.window_begin;
  }
};

}  // namespace dragoman::training
