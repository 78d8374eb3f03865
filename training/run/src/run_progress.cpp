#include "run_progress.h"

#include "start/run_folder.h"

namespace dragoman::training {
namespace {

EarlyStopping::Options early_stopping_options(const TrainingConfig& config) {
  EarlyStopping::Options options = stopping_options(config.validation, config.validation.metric);
  options.remember = averages_best(config.checkpoint) ? config.checkpoint.average : 1;
  return options;
}

}  // namespace

RunProgress::RunProgress(const TrainingConfig& config)
    : early_stopping(early_stopping_options(config)),
      plateau(config.training.schedule.plateau, higher_is_better(config.validation.metric)),
      other_metrics(config.validation) {}

void RunProgress::open_logs(const RunFolder& folder, const LoggingConfig& config) {
  metrics.emplace(folder.file(RunFiles::kMetrics), state.metric_lines, state.update);
  if (config.tensorboard)
    tensorboard.emplace(folder.file(RunFiles::kTensorBoard), state.update, metrics->kept_of_update());
}

void RunProgress::append(const core::Json& line) {
  if (!metrics) return;  // rank 0 has the logs
  metrics->append(line);
  if (tensorboard) tensorboard->append(line);
}

bool RunProgress::at_end(const TrainingConfig& config, const TrainingState& where) const {
  const TrainConfig& recipe = config.training;
  if ((recipe.updates > 0 && where.update >= recipe.updates) || (recipe.epochs > 0 && where.epoch >= recipe.epochs))
    return true;
  // The speed of a concurrent validation must not determine when training ends.
  const bool counts = !config.validation.concurrent() || validation_scheduled(config.validation, where);
  return counts && other_metrics.exhausted(early_stopping);
}

bool checkpoint_scheduled(const CheckpointConfig& config, const TrainingState& state) {
  return config.every > 0 && state.update % config.every == 0;
}

bool validation_scheduled(const ValidationConfig& config, const TrainingState& state) {
  if (!config.repeated() || state.update == 0) return false;
  if (config.every_epochs > 0) return state.batch == 0 && state.epoch % config.every_epochs == 0;
  return state.update % config.every == 0;
}

bool averages_best(const CheckpointConfig& config) {
  return config.average > 0 && config.average_of == AverageOf::kBest;
}

}  // namespace dragoman::training
