#pragma once

#include "start/run_tokenizers.h"

#include <filesystem>
#include <memory>
#include <string>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/training/corpus.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {

/// Returns vocabulary sizes and special ids from the tokenizers. Error{kBadInput} naming the key if a tokenizer lacks a
/// special token.
nn::SequenceSpec make_spec(const TrainingConfig& config, const RunTokenizers& tokenizers);
/// Compares the piece lists of both tokenizers if the model has one embedding table for both sides. If they differ:
/// Error{kBadInput} with the remedy, or, with `accept`, a warning, because the model was already trained this way.
void require_vocabulary_of_tables(const nn::Seq2SeqModel& model, const DataConfig& config,
                                  const RunTokenizers& tokenizers, bool accept, const core::LogSink& log);
/// Returns a model with allocated, uninitialised parameters.
std::unique_ptr<nn::Seq2SeqModel> make_model(const TrainingConfig& config, const TrainerEnvironment& environment,
                                             const nn::SequenceSpec& spec, tensor::Device device);
/// Sets the parameters to the base model of the adapters of the run in `folder`. Error{kBadInput} if the run trains no
/// adapters, or if the file is not the one that the run began with.
void load_base(const RunFolder& folder, nn::ParameterStore& parameters);
/// Returns the content of run.json: the configuration, everything that affects the run's results, fingerprints of its
/// data, sums of the files that are copied into its folder, and the build.
core::Json make_run_record(const TrainingConfig& config, const core::Json& build, const nn::Seq2SeqModel& model,
                           const RunTokenizers& tokenizers, const Corpus& train, const Corpus* validation);
void write_run_record(const core::Json& record, const std::filesystem::path& file);
/// Reads run.json of this version or an older one. Error{kBadInput} if the content is invalid or the configuration is
/// not the one that was written, Error{kUnsupported} for a newer version.
core::Json read_run_record(const std::filesystem::path& file);
/// Returns whether the validations of both runs are comparable: equal models, equal data and one metric.
bool validates_alike(const core::Json& before, const core::Json& now);
/// Compares the record of a run to be continued with the record of this process. Error{kBadInput} names each difference
/// that affects results; with `fork`, they are returned and logged instead. Another build is only a warning.
std::string check_same_run(const core::Json& before, const core::Json& now, bool fork, const std::string& where,
                           const core::LogSink& log);

}  // namespace dragoman::training
