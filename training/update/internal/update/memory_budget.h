#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <dragoman/core/log.h>
#include <dragoman/training/corpus.h>
#include <dragoman/training/optimizer.h>

namespace dragoman::training {

/// The uses of training.memory.
struct MemoryUse {
  std::uint64_t parameters = 0;  ///< of the model and of adapters
  std::uint64_t gradients = 0;   ///< including copies for updates of several batches
  std::uint64_t optimizer = 0;   ///< moments, and the average of parameters
  std::uint64_t validation = 0;  ///< the copy of the model for validation
  std::uint64_t corpus = 0;      ///< token ids, unless they are on disk
  std::uint64_t program = 0;     ///< code, libraries and their tables: a round number
  std::uint64_t sum() const noexcept { return parameters + gradients + optimizer + validation + corpus + program; }
};

/// The inputs of a trial.
struct BatchTrial {
  const TrainingConfig& config;
  /// Creates a model equal to the run's, for the trial only: it may keep memory of the context that it is first used
  /// with.
  std::function<std::unique_ptr<nn::Seq2SeqModel>()> make_model;
  tensor::Context& context;  ///< of the same kind as for training
};

/// Returns the maximum number of tokens of a batch, rounded down, with which training stays within
/// config.training.memory in addition to `use`. It is found by training on artificial batches of the longest sentences
/// that data.maximum_length allows. It does not depend on threads or data, so a run can be repeated. Logs the uses of
/// memory. Error{kBadInput} naming the smallest budget if there is no room for a single pair.
std::int64_t batch_tokens_within(const BatchTrial& trial, const MemoryUse& use, const core::LogSink& log);

}  // namespace dragoman::training
