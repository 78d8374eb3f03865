#pragma once

#include "scratch.h"
#include "small_task.h"
#include "target.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <dragoman/formats/checksums.h>
#include <dragoman/training/trainer.h>

namespace dragoman::fuzz {

/// A training run of two updates that was stopped after the first.
class InterruptedRun {
 public:
  InterruptedRun() : task_(make_folder(), 8) {
    training::testing::train(config(1));
    std::filesystem::rename(task_.file("run"), pristine());
  }

  /// The run as it was, with one file of other content, whose sum is right: what a checkpoint's sums refuse is read by
  /// nobody.
  void put(const std::string& name, std::string_view content) const {
    std::filesystem::remove_all(task_.file("run"));
    std::filesystem::copy(pristine(), task_.file("run"), std::filesystem::copy_options::recursive);
    put_file(task_.file("run") / name, content);
    formats::write_checksums(task_.file("run") / "checkpoint-1");
  }

  std::filesystem::path pristine() const { return task_.file("pristine"); }

  void resume() const {
    training::testing::train(config(2), training::StartMode::kResume);
    training::Trainer(config(2), training::make_environment(training::testing::host()), training::StartMode::kResume);
  }

 private:
  static std::filesystem::path make_folder() {
    const std::filesystem::path folder = scratch() / "task";
    std::filesystem::create_directory(folder);
    return folder;
  }
  training::TrainingConfig config(int updates) const {
    return task_.config({"training.updates=" + std::to_string(updates), "training.report_every=1", "checkpoint.every=1",
                         "validation.every=1", "validation.metrics=[]", "validation.samples=0", "model.d_model=4",
                         "model.heads=1", "model.feed_forward=4"});
  }

  training::testing::SmallTask task_;
};

/// Resumes a run one of whose files was replaced: the first line names the file, the rest is its content. True if the
/// run went on to its end, from where it can be resumed once more.
inline bool exercise_resume(std::string_view bytes) {
  static const InterruptedRun run;
  const std::string name(bytes.substr(0, bytes.find('\n')));
  if (name != "run.json" && name != "metrics.jsonl" && name != "checkpoint-1/state.json") return false;
  run.put(name, bytes.substr(std::min(name.size() + 1, bytes.size())));
  return accepts([&] { run.resume(); });
}

inline Target resume_target() {
  return {.name = "resume",
          .exercise = exercise_resume,
          .budget = {.milliseconds = 300, .bytes = std::size_t{64} << 20},
          .rounds = 10};
}

}  // namespace dragoman::fuzz
