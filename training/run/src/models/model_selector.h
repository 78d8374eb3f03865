#pragma once

#include "models/export.h"
#include "records/checkpoint_keeper.h"
#include "validation/concurrent_validation.h"

#include <memory>
#include <optional>
#include <stop_token>

namespace dragoman::training {

/// Validates the run, keeps its best model in `best/`, and writes the others at its end. All references must outlive
/// it.
class ModelSelector {
 public:
  ModelSelector(RunParts& run, RunProgress& progress, CheckpointKeeper& checkpoints);

  /// Whether the configuration asks for a validation now.
  bool due() const;
  /// Validates, and exports a new best model; false if a stop was requested meanwhile, with nothing changed. If
  /// validation fails, its error goes on to the caller after a checkpoint was saved.
  bool validate(const std::stop_token& stop);
  /// Begins a validation that runs while training goes on; none may be under way. Errors as above, some of them from
  /// conclude().
  void begin();
  /// Takes in what a validation has found that was begun, if there is one: when it is done, or only if it is.
  void conclude(bool wait);
  /// The validation that the end of a run adds if its last state has none; false as above.
  bool validate_last(const std::stop_token& stop);
  /// Writes the model as it is as the one that adapters are for.
  void write_base() const { exports_.write_base(*run_->model); }
  /// Tries again to write the best model, if it could not be written when it was found, be it by an earlier process.
  void write_owed_best();

  struct Selected {
    std::optional<ScoredUpdate> best;
    std::optional<double> average;  ///< the value of the mean of checkpoints, where it is the better one
    std::filesystem::path model;    ///< the folder that the user wants
  };
  /// Writes `last/` and, if asked, `average/`. Error{kIo} if a model could not be written in the end.
  Selected write_last_models(const std::stop_token& stop);

 private:
  struct ValidatedModel {
    Snapshot state;
    TrainingState at;  ///< where the run stood
    ValidationResult result;
  };

  std::optional<ValidatedModel> validate_snapshot(const std::stop_token& stop);
  /// Of a snapshot that nothing was measured of yet, on the thread of a concurrent validation.
  ValidationResult validate_beside(const ValidatedModel& model, const std::stop_token& stop) const;
  void take_in(ValidatedModel validated);
  void keep_hypotheses(const std::vector<std::string>& hypotheses) const;
  void record(const ValidatedModel& validated, bool best);
  Snapshot snapshot() const;
  /// A model with these values of its adapters.
  std::unique_ptr<nn::Seq2SeqModel> merged(const nn::ParameterStore& adapters) const;
  Snapshot mean_of(const std::vector<std::filesystem::path>& files) const;
  void export_best(ValidatedModel best);
  /// The best model of which an earlier process could keep the parameters and no more, if there is one.
  std::optional<ValidatedModel> find_owed_best(const std::stop_token& stop) const;
  /// Tries ValidationConfig::tune on the model of the folder, and keeps the best there.
  void tune(const std::filesystem::path& folder, const std::stop_token& stop);
  /// The mean's value by the metric that chooses, if it was validated.
  std::optional<double> export_average(const std::stop_token& stop);

  RunParts* run_;
  RunProgress* progress_;
  CheckpointKeeper* checkpoints_;
  ModelExports exports_;
  std::optional<ValidatedModel> owed_best_;
  std::optional<ValidatedModel> begun_;  ///< read by the validation's thread until its result has been taken
  ConcurrentValidation concurrent_;      // last: what it reads outlives it
};

}  // namespace dragoman::training
