#pragma once

#include <cstdint>
#include <string>

#include <dragoman/core/option_table.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// No run counts so far, and sums and products of such numbers do not overflow.
inline constexpr std::int64_t kMany = std::int64_t{1} << 40;

// The keys of each part of a configuration: how they are read, written, checked and explained.

/// Those that every model type has; the others are the model's own.
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

/// Makes a configuration with model.from whole: `model` are the keys of the model that it begins with, `tokenizers` its
/// own; what the configuration says goes before. Error{kBadInput} naming `where`.
void complete(TrainingConfig& config, const core::Json& model, const TokenizerPairConfig& tokenizers,
              const std::string& where);

}  // namespace dragoman::training
