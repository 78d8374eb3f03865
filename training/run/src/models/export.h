#pragma once

#include "start/run_tokenizers.h"

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <dragoman/formats/model_folder.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/training/config.h>
#include <dragoman/training/optimizer.h>
#include <dragoman/training/validation.h>

namespace dragoman::training {

/// The origin of a model, for its model card.
struct ModelOrigin {
  std::string title;  ///< "best of the run", ...
  std::int64_t update = 0;
  const ValidationResult* scores = nullptr;  ///< nullptr: never validated
};

/// Throws Error{kInvalidArgument} if something that is not a model is in the place of a model of the run. Checked
/// before training.
void require_room_for_models(const TrainingConfig& config);

/// A state of a run for translation, without gradients.
struct Snapshot {
  std::unique_ptr<nn::Seq2SeqModel> model;
  /// The adapters that are merged into the model. nullptr: the run trains none.
  std::unique_ptr<nn::ParameterStore> adapters;
};

/// The model folders of a run. If one cannot be written, that is a warning, because training can continue without it.
class ModelExports {
 public:
  /// The references must outlive the object. `plugin` provides the model type; empty for built-in types.
  ModelExports(const TrainingConfig& config, const RunTokenizers& tokenizers, const core::Json& run_record,
               std::string plugin, const TrainerEnvironment& environment)
      : config_(&config),
        tokenizers_(&tokenizers),
        record_(&run_record),
        plugin_(std::move(plugin)),
        environment_(&environment) {}

  /// Writes the folder `name` of the run, atomically for readers. Returns false if it cannot be written.
  bool write(const std::string& name, const Snapshot& state, const ModelOrigin& origin);
  /// Writes a model to any folder, as write() does for the run. Throws errors.
  void write_to(const std::filesystem::path& folder, const nn::Seq2SeqModel& model, const ModelOrigin& origin) const;
  /// Writes the folder `base`: the base model of the run's adapters. Throws errors.
  void write_base(const nn::Seq2SeqModel& model) const;
  /// Adds decoding defaults to a folder that was written.
  void set_decoding(const std::filesystem::path& folder, const core::Json& decoding) const;
  /// Error{kIo} if a model is still not written. The message says that `checkpoint` is kept.
  void require_written(const std::filesystem::path& checkpoint) const;

 private:
  formats::TokenizerOpener opener() const;
  std::string card(const ModelOrigin& origin) const;
  void write_folder(const std::filesystem::path& folder, const nn::Seq2SeqModel& model, const ModelOrigin& origin,
                    tensor::DType dtype) const;
  void note_unwritten(const std::string& name, std::string_view reason);
  void write_adapters(const std::string& name, const nn::ParameterStore& adapters, const nn::Seq2SeqModel& model) const;

  const TrainingConfig* config_;
  const RunTokenizers* tokenizers_;
  const core::Json* record_;
  std::string plugin_;
  const TrainerEnvironment* environment_;
  std::map<std::string, std::string> unwritten_;  ///< names, and reasons
};

/// Sets `parameters` to the mean, computed in double precision, of the files' tensors with the same names.
void average_tensors(std::span<const std::filesystem::path> files, const nn::ParameterStore& parameters);

}  // namespace dragoman::training
