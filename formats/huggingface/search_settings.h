#pragma once

#include "huggingface/folder.h"

#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::imports {

/// The search settings of a folder, from generation_config.json or else from config.json.
struct SearchSettings {
  core::Json decoding = core::Json::object();  ///< in the form of ModelConfig::decoding
  /// Settings that cannot be applied: file, key, and the consequence.
  std::vector<std::string> warnings{};
};

/// Throws Error{kBadInput} that names file and key for invalid values, including ids outside the vocabulary.
SearchSettings read_search_settings(const HuggingFaceFolder& folder, const nn::SequenceSpec& sequences);

/// Returns the decoder's first input as generate() chooses it: generation_config.json has priority over config.json.
std::int32_t decoder_start_of(const HuggingFaceFolder& folder, const nn::SequenceSpec& sequences);

}  // namespace dragoman::imports
