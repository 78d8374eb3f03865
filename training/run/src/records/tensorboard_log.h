#pragma once

#include "run/event_file.h"

#include <cstdint>
#include <filesystem>
#include <optional>

#include <dragoman/core/json_fwd.h>

namespace dragoman::training {

/// What metrics.jsonl says, as event files: `train/loss`, `validation/BLEU`, `samples/1` and so on. One thread at a
/// time.
class TensorBoardLog {
 public:
  /// Goes on after `update`, of which metrics.jsonl has `lines`: what older files of the folder hold beyond that is cut
  /// off, and a new file begins, which tells a TensorBoard that is watching to forget later updates, too.
  TensorBoardLog(const std::filesystem::path& folder, std::int64_t update, std::uint64_t lines);
  /// Takes a line of metrics.jsonl; all numbers in it but those that say when are scalars, those that are not finite
  /// left out.
  void append(const core::Json& line);

 private:
  std::optional<EventFile> file_;
  std::int64_t sampled_update_ = -1;
  int samples_ = 0;
};

}  // namespace dragoman::training
