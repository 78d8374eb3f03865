#pragma once

#include "start/run_folder.h"
#include "start/run_start.h"
#include "start/run_tokenizers.h"
#include "update/gradient_accumulator.h"

#include <memory>
#include <optional>
#include <stop_token>

#include <dragoman/core/parallel.h>
#include <dragoman/training/low_rank_adapters.h>
#include <dragoman/training/optimizer.h>
#include <dragoman/training/trainer.h>
#include <dragoman/training/validation.h>

namespace dragoman::training {

/// The parts of a run, each built from those above it. Members refer to one another, so the object cannot be moved. The
/// order of declaration determines the order of destruction.
struct RunParts {
  /// Locks the folder, reads data and tokenizers, and creates model and optimizer. Loads no checkpoint and writes
  /// nothing.
  RunParts(TrainingConfig run_config, TrainerEnvironment run_environment, StartMode mode, const std::stop_token& stop);
  RunParts(const RunParts&) = delete;
  RunParts& operator=(const RunParts&) = delete;

  TrainingConfig config;
  TrainerEnvironment environment;
  std::unique_ptr<collective::Collective> single;  ///< if there is no other process
  collective::Collective* ranks;                   ///< all processes that train together
  RunFolder folder;                                // before all members that use it
  std::optional<StartingModel> start;              ///< for model.from; completes the configuration
  tensor::Device device;
  tensor::ComputeType validation_type;
  std::unique_ptr<core::Executor> executor;
  std::unique_ptr<tensor::Context> context;
  RunTokenizers tokenizers;
  nn::SequenceSpec spec;
  std::unique_ptr<nn::Seq2SeqModel> model;
  std::unique_ptr<LowRankAdapters> adapters;  ///< for training.lora; nullptr: the model's own parameters are trained
  std::unique_ptr<Corpus> train;
  std::unique_ptr<Corpus> validation;  ///< nullptr: not configured
  std::optional<Validator> validator;  ///< for `validation`
  /// For validations that run concurrently with training; otherwise nullptr and nullopt.
  std::unique_ptr<core::Executor> validation_executor;
  std::optional<Validator> concurrent_validator;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<GradientAccumulator> gradients;
  core::Json record;  ///< for run.json

  /// Returns the parameters that optimizer and checkpoints contain: the adapters', or the model's.
  nn::ParameterStore& trained() const { return adapters ? adapters->parameters() : model->parameters(); }
  /// Returns a model of the run's kind, whose parameters are allocated but not set.
  std::unique_ptr<nn::Seq2SeqModel> make_model() const;
  void log(const std::string& message) const { core::log(environment.log, core::LogLevel::kInfo, message); }
  void warn(const std::string& message) const { core::log(environment.log, core::LogLevel::kWarning, message); }
};

}  // namespace dragoman::training
