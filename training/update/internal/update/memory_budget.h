#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <dragoman/core/log.h>
#include <dragoman/training/corpus.h>
#include <dragoman/training/optimizer.h>

namespace dragoman::training {

/// What training.memory is divided among.
struct MemoryUse {
  std::uint64_t parameters = 0;  ///< the model's, and those of adapters
  std::uint64_t gradients = 0;   ///< and what updates of several batches keep of them
  std::uint64_t optimizer = 0;   ///< moments, and the average of parameters
  std::uint64_t validation = 0;  ///< the copy of the model that is validated
  std::uint64_t corpus = 0;      ///< token ids, unless they stand on disk
  std::uint64_t program = 0;     ///< code, libraries and their tables: a round sum
  std::uint64_t sum() const noexcept { return parameters + gradients + optimizer + validation + corpus + program; }
};

/// What a batch is tried on.
struct BatchTrial {
  const TrainingConfig& config;
  /// A model like the run's, for the trial alone: it may keep memory of the context that it is first used with.
  std::function<std::unique_ptr<nn::Seq2SeqModel>()> make_model;
  tensor::Context& context;  ///< of the kind that training has
};

/// The most tokens of a batch, rounded down to some, with which training stays within config.training.memory beside
/// `use`: found by training on made-up batches of the longest sentences that data.maximum_length allows. The same for
/// any threads and any data, so a run can be made again. Logs an account. Error{kBadInput} naming the least budget if
/// there is no room for a single pair.
std::int64_t batch_tokens_within(const BatchTrial& trial, const MemoryUse& use, const core::LogSink& log);

}  // namespace dragoman::training
