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

/// What a run is made of, each part put together from those above it. Members refer to one another, so it stays where
/// it is; the order of declaration is also that in which they go.
struct RunParts {
  /// Locks the folder, reads data and tokenizers, makes model and optimizer; loads and writes nothing.
  RunParts(TrainingConfig run_config, TrainerEnvironment run_environment, StartMode mode, const std::stop_token& stop);
  RunParts(const RunParts&) = delete;
  RunParts& operator=(const RunParts&) = delete;

  TrainingConfig config;
  TrainerEnvironment environment;
  std::unique_ptr<collective::Collective> single;  ///< where there is no other process
  collective::Collective* ranks;                   ///< all that train
  RunFolder folder;                                // before all that reads or writes in it
  std::optional<StartingModel> start;              ///< of model.from; completes the configuration
  tensor::Device device;
  tensor::ComputeType validation_type;
  std::unique_ptr<core::Executor> executor;
  std::unique_ptr<tensor::Context> context;
  RunTokenizers tokenizers;
  nn::SequenceSpec spec;
  std::unique_ptr<nn::Seq2SeqModel> model;
  std::unique_ptr<LowRankAdapters> adapters;  ///< of training.lora; nullptr: the model's own parameters are trained
  std::unique_ptr<Corpus> train;
  std::unique_ptr<Corpus> validation;  ///< nullptr: none is configured
  std::optional<Validator> validator;  ///< of `validation`
  /// Of validations that run while training goes on; nullptr and nothing if it waits for them.
  std::unique_ptr<core::Executor> validation_executor;
  std::optional<Validator> concurrent_validator;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<GradientAccumulator> gradients;
  core::Json record;  ///< for run.json

  /// What optimizer and checkpoints have to do with: the adapters' parameters, or the model's.
  nn::ParameterStore& trained() const { return adapters ? adapters->parameters() : model->parameters(); }
  /// A model of the run's kind with memory for its parameters, which are not set.
  std::unique_ptr<nn::Seq2SeqModel> make_model() const;
  void log(const std::string& message) const { core::log(environment.log, core::LogLevel::kInfo, message); }
  void warn(const std::string& message) const { core::log(environment.log, core::LogLevel::kWarning, message); }
};

}  // namespace dragoman::training
