#pragma once

#include <filesystem>
#include <span>
#include <string>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/training/config.h>
#include <dragoman/training/optimizer.h>
#include <dragoman/training/validation.h>

namespace dragoman::training {

/// What a model card says about where a model comes from.
struct ModelOrigin {
  std::string title;  ///< "best of the run", ...
  std::int64_t update = 0;
  const ValidationResult* scores = nullptr;  ///< nullptr: never validated
  core::Json run_record;
  /// Name of the plugin that brings the model type; empty for what is built in.
  std::string plugin;
};

/// Writes a model folder, in one step as far as readers can tell.
void export_model(const std::filesystem::path& folder, const nn::Seq2SeqModel& model, const TrainingConfig& config,
                  const ModelOrigin& origin);

/// Fills `parameters` with the mean, taken in double precision, of the files' tensors of the same names.
void average_tensors(std::span<const std::filesystem::path> files, const nn::ParameterStore& parameters);

}  // namespace dragoman::training
