#pragma once

#include <cstdint>
#include <string>

#include <dragoman/core/option_table.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// Larger than any count in a run; sums and products of such values do not overflow.
inline constexpr std::int64_t kMany = std::int64_t{1} << 40;

// The keys of each part of a configuration: how they are read, written, checked and explained.

/// The keys that all model types share; each model type adds its own keys.
const core::OptionTable<ModelConfig>& model_table();
const core::OptionTable<DataConfig>& data_table();
const core::OptionTable<TrainConfig>& training_table();
const core::OptionTable<ValidationConfig>& validation_table();
const core::OptionTable<CheckpointConfig>& checkpoint_table();
const core::OptionTable<LoggingConfig>& logging_table();

struct TokenizerPairConfig {
  tokenizer::TokenizerSpec source;
  tokenizer::TokenizerSpec target;
};

/// Completes a configuration with model.from. `model` are the keys of the model that training starts from, `tokenizers`
/// its tokenizers; settings in the configuration take precedence. Error{kBadInput} naming `where`.
void complete(TrainingConfig& config, const core::Json& model, const TokenizerPairConfig& tokenizers,
              const std::string& where);

}  // namespace dragoman::training
