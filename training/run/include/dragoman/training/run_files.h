#pragma once

#include <array>

namespace dragoman::training {

/// The names of files and folders in the folder of a training run and in its checkpoints. formats::ModelFiles has those
/// of weights and tokenizers.
struct RunFiles {
  static constexpr const char* kRecord = "run.json";
  static constexpr const char* kMetrics = "metrics.jsonl";
  /// How many lines and tokens of the corpus there are, by length.
  static constexpr const char* kData = "data.json";

  // Model folders.
  static constexpr const char* kBest = "best";
  static constexpr const char* kLast = "last";
  static constexpr const char* kAverage = "average";
  /// The model that the adapters of the run are for.
  static constexpr const char* kBase = "base";
  static constexpr const char* kBaseWeights = "base/model.safetensors";

  static constexpr std::array kModels{kLast, kBest, kAverage};
  /// The folder of a model's adapters has the name of the model's folder with this suffix.
  static constexpr const char* kAdapterSuffix = "-adapters";

  /// The parameters of a best model that could not be written, until it can be.
  static constexpr const char* kOwedBest = "best-owed.safetensors";

  // Other folders.
  static constexpr const char* kValidation = "validation";
  static constexpr const char* kTensorBoard = "tensorboard";
  static constexpr const char* kBlocks = "blocks";

  /// Everything that training writes in its folder, except adapters, checkpoints and copies of tokenizers.
  static constexpr std::array kAll{kRecord, kMetrics,  kData,       kBest,        kLast,  kAverage,
                                   kBase,   kOwedBest, kValidation, kTensorBoard, kBlocks};

  /// A checkpoint is the folder "checkpoint-<update>".
  static constexpr const char* kCheckpointPrefix = "checkpoint-";
  /// In a checkpoint.
  static constexpr const char* kState = "state.json";
  /// The moving averages of the parameters, in a checkpoint of a run that has them.
  static constexpr const char* kAveragedParameters = "average.safetensors";
};

}  // namespace dragoman::training
