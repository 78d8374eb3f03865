#pragma once

#include "huggingface/folder.h"

#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::imports {

/// What a folder says of the search, in generation_config.json or else in config.json.
struct SearchSettings {
  core::Json decoding = core::Json::object();  ///< as ModelConfig::decoding
  /// What cannot be followed: file, key, and what comes of it.
  std::vector<std::string> warnings{};
};

/// Error{kBadInput} that names file and key for values that make no sense, ids beyond the vocabulary among them.
SearchSettings read_search_settings(const HuggingFaceFolder& folder, const nn::SequenceSpec& sequences);

/// The decoder's first input as generate() chooses it: what generation_config.json says goes before config.json.
std::int32_t decoder_start_of(const HuggingFaceFolder& folder, const nn::SequenceSpec& sequences);

}  // namespace dragoman::imports
