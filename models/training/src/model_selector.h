#pragma once

#include "checkpoint_keeper.h"
#include "export.h"

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
  /// The validation that the end of a run adds if its last state has none; false as above.
  bool validate_last(const std::stop_token& stop);
  /// Writes the model as it is as the one that adapters are for.
  void write_base() const { exports_.write_base(*run_->model); }
  /// Tries again to write the best model, if it could not be written when it was found.
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
    std::int64_t update = 0;
    ValidationResult result;
  };

  std::optional<ValidatedModel> validate_snapshot(const std::stop_token& stop);
  void keep_hypotheses(const std::vector<std::string>& hypotheses) const;
  void record(const ValidationResult& result, bool best);
  Snapshot snapshot() const;
  /// A model with these values of its adapters.
  std::unique_ptr<nn::Seq2SeqModel> merged(const nn::ParameterStore& adapters) const;
  Snapshot mean_of(const std::vector<std::filesystem::path>& files) const;
  void export_best(ValidatedModel best);
  /// Tries ValidationConfig::tune on the model of the folder, and keeps the best there.
  void tune(const std::filesystem::path& folder, const std::stop_token& stop);
  /// The mean's value by the metric that chooses, if it was validated.
  std::optional<double> export_average(const std::stop_token& stop);

  RunParts* run_;
  RunProgress* progress_;
  CheckpointKeeper* checkpoints_;
  ModelExports exports_;
  std::optional<ValidatedModel> owed_best_;
};

}  // namespace dragoman::training
