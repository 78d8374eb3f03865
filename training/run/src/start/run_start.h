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

/// The model that a run starts from: model.from. Its folder is read when the run begins. A continued run takes all
/// other information from its own record, so the folder may be gone.
class StartingModel {
 public:
  /// Completes `config`. `record` is run.json of a continued run, otherwise null. Returns nullopt for a configuration
  /// without model.from. Error{kBadInput} for a folder without a model, and for a run that began without one.
  static std::optional<StartingModel> find(TrainingConfig& config, const core::Json& record,
                                           const TrainerEnvironment& environment);

  /// Returns the tags around the sentences of the languages that `config` names. Error{kBadInput} for a language that
  /// the model lacks.
  formats::SequenceTags tags(const DataConfig& config) const;
  /// Returns the model's specification for these tokenizers. Its special tokens are the folder's, found by their
  /// pieces. Error{kBadInput} if a tokenizer lacks one.
  nn::SequenceSpec spec(const TrainingConfig& config, const RunTokenizers& tokenizers) const;

  /// Sets the parameters of `model`, which have their initial values, to those of the folder. With other tokenizers,
  /// rows of pieces are matched by the piece, and pieces that the folder's tokenizer lacks keep their initial values.
  /// With model.from_matching, parameters that the folder's model lacks, or has in another shape, do so as well.
  /// Otherwise, and if nothing matches, Error{kBadInput}. Only at the beginning of a run.
  void load(nn::Seq2SeqModel& model, const RunTokenizers& tokenizers) const;

  /// Returns the information for run.json that is needed after the folder is gone, and `decoding`, the folder's
  /// decoding defaults, which the models of the run keep.
  core::Json account(const nn::SequenceSpec& spec, const RunTokenizers& tokenizers) const;
  /// Returns the sum of the weights at the beginning of the run.
  std::string sum() const;

 private:
  StartingModel(std::filesystem::path path, const TrainerEnvironment& environment)
      : path_(std::move(path)), environment_(&environment) {}
  /// The special tokens by their keys, as the pieces of their ids.
  struct SpecialTokens {
    nn::SequenceSpec sequences;
    std::map<std::string, std::string> pieces;
  };

  /// Takes the information about the folder from run.json.
  void go_on(const core::Json& record);
  void require_vocabulary(const DataConfig& config, const DataConfig& before) const;
  SpecialTokens special_tokens() const;
  formats::ModelFolder open() const;
  void carry_over(formats::ModelFolder& folder, nn::Seq2SeqModel& model, const RunTokenizers& tokenizers) const;

  std::filesystem::path path_;
  const TrainerEnvironment* environment_;
  core::Json recorded_;  ///< account() of a continued run
  core::Json decoding_ = core::Json::object();
  formats::LanguageTable languages_;
  std::string recorded_sum_;
  bool matching_ = false;  ///< model.from_matching
};

}  // namespace dragoman::training
