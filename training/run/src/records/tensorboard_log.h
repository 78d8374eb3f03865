#pragma once

#include "run/event_file.h"

#include <cstdint>
#include <filesystem>
#include <optional>

#include <dragoman/core/json_fwd.h>

namespace dragoman::training {

/// Writes the content of metrics.jsonl to event files: `train/loss`, `validation/BLEU`, `samples/1` and so on. Not
/// thread-safe.
class TensorBoardLog {
 public:
  /// Continues after `update`, of which metrics.jsonl has `lines` lines. Later events in existing files of the folder
  /// are removed. A new file begins, which makes a running TensorBoard drop later updates, too.
  TensorBoardLog(const std::filesystem::path& folder, std::int64_t update, std::uint64_t lines);
  /// Appends a line of metrics.jsonl. All numbers in it are scalars, except times and non-finite ones.
  void append(const core::Json& line);

 private:
  std::optional<EventFile> file_;
  std::int64_t sampled_update_ = -1;
  int samples_ = 0;
};

}  // namespace dragoman::training
