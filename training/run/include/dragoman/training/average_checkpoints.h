#pragma once

#include <filesystem>
#include <vector>

#include <dragoman/training/trainer.h>

namespace dragoman::training {

/// Returns whether `path` is the folder of a checkpoint of a training run.
bool is_checkpoint(const std::filesystem::path& path);

/// Writes the model folder `output` with the mean of the checkpoints' parameters for translation: the moving averages
/// of a run with training.ema_decay, and merged adapters of a run with training.lora. The result equals the folder
/// `average` that the run would write for these checkpoints. All other contents come from the run of the first
/// checkpoint, that is the folder with the checkpoints, run.json and the tokenizers.
///
/// The mean is computed in double precision, in the order of the updates within a run. Error{kBadInput} if the
/// checkpoints are of runs with different models or tokenizers (the message names the difference), and for a checkpoint
/// that is damaged or outside its run. `output` is replaced as by formats::write_model_folder(). The runs may still be
/// training.
///
///     const TrainerEnvironment environment = make_environment(plugins::default_host());     // trainer.h
///     average_checkpoints({"run/checkpoint-9000", "run/checkpoint-10000"}, "mean", environment);
void average_checkpoints(const std::vector<std::filesystem::path>& checkpoints, const std::filesystem::path& output,
                         const TrainerEnvironment& environment);

}  // namespace dragoman::training
