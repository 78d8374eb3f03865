#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace dragoman::training {

/// The names of files and folders in the folder of a training run and in its checkpoints. formats::ModelFiles has the
/// names of weights and tokenizers.
struct RunFiles {
  static constexpr const char* kRecord = "run.json";
  /// The newest `format_version` of kRecord. Version 1 has no copies of the tokenizers, and no sums.
  static constexpr int kRecordVersion = 2;
  static constexpr const char* kMetrics = "metrics.jsonl";
  /// The numbers of lines and tokens of the corpus by length.
  static constexpr const char* kData = "data.json";

  // Model folders.
  static constexpr const char* kBest = "best";
  static constexpr const char* kLast = "last";
  static constexpr const char* kAverage = "average";
  /// The base model of the run's adapters.
  static constexpr const char* kBase = "base";
  static constexpr const char* kBaseWeights = "base/model.safetensors";

  static constexpr std::array kModels{kLast, kBest, kAverage};
  /// The folder of a model's adapters has the name of the model's folder with this suffix.
  static constexpr const char* kAdapterSuffix = "-adapters";

  /// The parameters of a best model whose folder could not be written yet.
  static constexpr const char* kOwedBest = "best-owed.safetensors";

  // Other folders.
  static constexpr const char* kValidation = "validation";
  static constexpr const char* kTensorBoard = "tensorboard";
  static constexpr const char* kBlocks = "blocks";

  /// All names that training writes to its folder, except adapters, checkpoints and copies of tokenizers.
  static constexpr std::array kAll{kRecord, kMetrics,  kData,       kBest,        kLast,  kAverage,
                                   kBase,   kOwedBest, kValidation, kTensorBoard, kBlocks};

  /// A checkpoint is the folder "checkpoint-<update>".
  static constexpr const char* kCheckpointPrefix = "checkpoint-";
  /// Returns the update in the name of a checkpoint, or -1 for any other name.
  static std::int64_t update_of(std::string_view name) {
    const std::string_view prefix = kCheckpointPrefix;
    if (!name.starts_with(prefix)) return -1;
    std::int64_t update = -1;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, update);
    return error == std::errc{} && stop == end && update >= 0 ? update : -1;
  }
  /// A damaged checkpoint that was set aside is "checkpoint-<update>.damaged", or that with "-2", "-3" and so on.
  static constexpr std::string_view kDamagedSuffix = ".damaged";
  /// In a checkpoint: the TrainingState.
  static constexpr const char* kState = "state.json";
  /// The newest `format_version` of kState. Version 2 lacks the states of optimisers other than Adam, plateaus, and
  /// counts of non-finite updates.
  static constexpr int kStateVersion = 3;
  /// The moving averages of the parameters, in a checkpoint of a run that has them.
  static constexpr const char* kAveragedParameters = "average.safetensors";
};

}  // namespace dragoman::training
