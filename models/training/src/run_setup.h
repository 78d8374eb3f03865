#pragma once

#include <memory>
#include <string>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/training/corpus.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {

TokenizerPair load_tokenizers(const DataConfig& config);
/// Vocabulary sizes and special ids from the tokenizers; a special token that one lacks is Error{kBadInput} naming the
/// key.
nn::SequenceSpec make_spec(const TrainingConfig& config, const TokenizerPair& tokenizers);
/// A model with allocated, uninitialised parameters.
std::unique_ptr<nn::Seq2SeqModel> make_model(const TrainingConfig& config, const TrainerEnvironment& environment,
                                             const nn::SequenceSpec& spec, tensor::Device device);
/// What a run is made of: configuration, everything that affects its results, fingerprints of its data, build.
core::Json make_run_record(const TrainingConfig& config, const core::Json& build, const nn::Seq2SeqModel& model,
                           const Corpus& train, const Corpus* validation);
/// Compares the record of a run to be continued with the one of this process. Error{kBadInput} names each difference
/// that affects results, unless `fork`; another build only warns.
void check_same_run(const core::Json& before, const core::Json& now, bool fork, const std::string& where,
                    const core::LogSink& log);

}  // namespace dragoman::training
