#pragma once

#include "models/export.h"
#include "records/checkpoint_keeper.h"
#include "validation/concurrent_validation.h"

#include <memory>
#include <optional>
#include <stop_token>

namespace dragoman::training {

/// Validates the run, keeps its best model in `best/`, and writes the other models at its end. All references must
/// outlive the object.
class ModelSelector {
 public:
  ModelSelector(RunParts& run, RunProgress& progress, CheckpointKeeper& checkpoints);

  /// Returns whether the configuration schedules a validation now.
  bool due() const;
  /// Validates, and exports a new best model. Returns false, with nothing changed, if a stop was requested meanwhile.
  /// If validation fails, a checkpoint is saved and the error is rethrown.
  bool validate(const std::stop_token& stop);
  /// Begins a validation that runs concurrently with training; none may be in progress. Errors as in validate(), some
  /// of them from conclude().
  void begin();
  /// Processes the result of a validation in progress, if there is one. `wait`: whether to wait for it.
  void conclude(bool wait);
  /// Makes the validation at the end of a run if its last state has none. Returns false as validate().
  bool validate_last(const std::stop_token& stop);
  /// Writes the current model as the base model of adapters.
  void write_base() const { exports_.write_base(*run_->model); }
  /// Tries again to write the best model if it could not be written when it was found, even by an earlier process.
  void write_owed_best();

  struct Selected {
    std::optional<ScoredUpdate> best;
    std::optional<double> average;  ///< the value of the mean of checkpoints, if it is better
    std::filesystem::path model;    ///< the folder of the final model
  };
  /// Writes `last/` and, if configured, `average/`. Error{kIo} if a model could not be written in the end.
  Selected write_last_models(const std::stop_token& stop);

 private:
  struct ValidatedModel {
    Snapshot state;
    TrainingState at;  ///< the position of the run
    ValidationResult result;
  };

  std::optional<ValidatedModel> validate_snapshot(const std::stop_token& stop);
  /// Validates a snapshot of which nothing has been measured, on the thread of a concurrent validation.
  ValidationResult validate_beside(const ValidatedModel& model, const std::stop_token& stop) const;
  void take_in(ValidatedModel validated);
  void keep_hypotheses(const std::vector<std::string>& hypotheses) const;
  void record(const ValidatedModel& validated, bool best);
  void make_room() const;
  Snapshot snapshot() const;
  /// Returns a model with these values of its adapters.
  std::unique_ptr<nn::Seq2SeqModel> merged(const nn::ParameterStore& adapters) const;
  Snapshot mean_of(const std::vector<std::filesystem::path>& files) const;
  void export_best(ValidatedModel best);
  /// Returns the best model if an earlier process could only save its parameters.
  std::optional<ValidatedModel> find_owed_best(const std::stop_token& stop) const;
  /// Tries ValidationConfig::tune on the model of the folder, and stores the best setting there.
  void tune(const std::filesystem::path& folder, const std::stop_token& stop);
  /// Returns the value of the mean by the metric that selects models, if it was validated.
  std::optional<double> export_average(const std::stop_token& stop);

  RunParts* run_;
  RunProgress* progress_;
  CheckpointKeeper* checkpoints_;
  ModelExports exports_;
  std::optional<ValidatedModel> owed_best_;
  std::optional<ValidatedModel> begun_;  ///< used by the validation's thread until its result has been processed
  ConcurrentValidation concurrent_;      // last: the others outlive its thread
};

}  // namespace dragoman::training
