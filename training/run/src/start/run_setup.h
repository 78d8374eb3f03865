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

/// Vocabulary sizes and special ids from the tokenizers; a special token that one lacks is Error{kBadInput} naming the
/// key.
nn::SequenceSpec make_spec(const TrainingConfig& config, const RunTokenizers& tokenizers);
/// Compares the piece lists of both tokenizers if the model has one table of embeddings for both sides. If they differ:
/// Error{kBadInput} with the remedy, or, if `accept`, a warning: the model was already trained so.
void require_vocabulary_of_tables(const nn::Seq2SeqModel& model, const DataConfig& config,
                                  const RunTokenizers& tokenizers, bool accept, const core::LogSink& log);
/// A model with allocated, uninitialised parameters.
std::unique_ptr<nn::Seq2SeqModel> make_model(const TrainingConfig& config, const TrainerEnvironment& environment,
                                             const nn::SequenceSpec& spec, tensor::Device device);
/// Gives the parameters the values of the model that the adapters of the run in `folder` are for. Error{kBadInput} if
/// the run trains no adapters, or if the file is not the one that the run began with.
void load_base(const RunFolder& folder, nn::ParameterStore& parameters);
/// The content of run.json: the configuration, everything that affects the run's results, fingerprints of its data,
/// sums of the files that are copied into its folder, and the build.
core::Json make_run_record(const TrainingConfig& config, const core::Json& build, const nn::Seq2SeqModel& model,
                           const RunTokenizers& tokenizers, const Corpus& train, const Corpus* validation);
void write_run_record(const core::Json& record, const std::filesystem::path& file);
/// Reads run.json of this version or an older one. Error{kBadInput} if it is none or its configuration is not the one
/// that was written, Error{kUnsupported} for one of a newer version.
core::Json read_run_record(const std::filesystem::path& file);
/// Whether the validations of both runs can be compared: they are of equal models, on equal data, by one metric.
bool validates_alike(const core::Json& before, const core::Json& now);
/// Compares the record of a run to be continued with the one of this process. Error{kBadInput} names each difference
/// that affects results, unless `fork`, which returns and logs them; another build only warns.
std::string check_same_run(const core::Json& before, const core::Json& now, bool fork, const std::string& where,
                           const core::LogSink& log);

}  // namespace dragoman::training
