#pragma once

#include "data/run_tokenizers.h"

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
/// A model with allocated, uninitialised parameters.
std::unique_ptr<nn::Seq2SeqModel> make_model(const TrainingConfig& config, const TrainerEnvironment& environment,
                                             const nn::SequenceSpec& spec, tensor::Device device);
/// What a run is made of, the content of run.json: configuration, everything that affects its results, fingerprints of
/// its data, sums of what is copied into its folder, build.
core::Json make_run_record(const TrainingConfig& config, const core::Json& build, const nn::Seq2SeqModel& model,
                           const RunTokenizers& tokenizers, const Corpus& train, const Corpus* validation);
void write_run_record(const core::Json& record, const std::filesystem::path& file);
/// Reads run.json of this version or an older one. Error{kBadInput} if it is none or its configuration is not the one
/// that was written, Error{kUnsupported} for one of a newer version.
core::Json read_run_record(const std::filesystem::path& file);
/// Whether validations of one run can be compared with those of the other: of equal models on equal data by one metric.
bool validates_alike(const core::Json& before, const core::Json& now);
/// Compares the record of a run to be continued with the one of this process. Error{kBadInput} names each difference
/// that affects results, unless `fork`, which returns and logs them; another build only warns.
std::string check_same_run(const core::Json& before, const core::Json& now, bool fork, const std::string& where,
                           const core::LogSink& log);

}  // namespace dragoman::training
