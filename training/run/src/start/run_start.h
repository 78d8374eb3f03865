#pragma once

#include "start/run_tokenizers.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {

/// The model that a run begins with: model.from. Its folder is read when the run begins; one that goes on knows the
/// rest from its own record, and the folder may be gone.
class StartingModel {
 public:
  /// Completes `config`; `record` is run.json of a run that goes on, else null. Nothing of a configuration without
  /// model.from. Error{kBadInput} for a folder that is no model's, and for a run that began with none.
  static std::optional<StartingModel> find(TrainingConfig& config, const core::Json& record,
                                           const TrainerEnvironment& environment);

  /// Returns what stands around the sentences of the languages that `config` names. Error{kBadInput} for a language
  /// that the model lacks.
  formats::SequenceTags tags(const DataConfig& config) const;
  /// Returns the model's specification for these tokenizers. Its special tokens are the folder's, found by their
  /// pieces. Error{kBadInput} for one that a tokenizer lacks.
  nn::SequenceSpec spec(const TrainingConfig& config, const RunTokenizers& tokenizers) const;

  /// Gives `model`, whose parameters have their initial values, those of the folder. With other tokenizers, what
  /// belongs to a piece is carried over by the piece, and pieces that the folder's tokenizer lacks keep their initial
  /// values; with model.from_matching, so do parameters that the folder's model lacks, or has in another shape.
  /// Error{kBadInput} otherwise, and if there are no others. Only when the run begins.
  void load(nn::Seq2SeqModel& model, const RunTokenizers& tokenizers) const;

  /// For run.json: what is needed when the folder is gone, and `decoding`, the folder's decoding defaults, which the
  /// models of the run keep.
  core::Json account(const nn::SequenceSpec& spec, const RunTokenizers& tokenizers) const;
  /// The sum of the weights when the run began.
  std::string sum() const;

 private:
  StartingModel(std::filesystem::path path, const TrainerEnvironment& environment)
      : path_(std::move(path)), environment_(&environment) {}
  /// Special tokens by their keys: the pieces of their ids.
  struct SpecialTokens {
    nn::SequenceSpec sequences;
    std::map<std::string, std::string> pieces;
  };

  /// Takes from run.json what the folder said when the run began.
  void go_on(const core::Json& record);
  void require_vocabulary(const DataConfig& config, const DataConfig& before) const;
  SpecialTokens special_tokens() const;
  formats::ModelFolder open() const;
  void carry_over(formats::ModelFolder& folder, nn::Seq2SeqModel& model, const RunTokenizers& tokenizers) const;

  std::filesystem::path path_;
  const TrainerEnvironment* environment_;
  core::Json recorded_;  ///< account(), of a run that goes on
  core::Json decoding_ = core::Json::object();
  formats::LanguageTable languages_;
  std::string recorded_sum_;
  bool matching_ = false;  ///< model.from_matching
};

}  // namespace dragoman::training
