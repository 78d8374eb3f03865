#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// Whether one of the patterns, as a shell's, stands for the name.
bool matches_any(const std::vector<std::string>& patterns, const std::string& name);

/// Error{kBadInput} for a pattern that stands for none of the names; `key` is that of the configuration below training,
/// `kind` what the names are of, such as "parameter".
void require_matches(const std::vector<std::string>& patterns, const std::vector<std::string>& names,
                     std::string_view key, std::string_view kind);

/// Whether it is the matrix, or the bias, of the projection to the vocabulary, as every model here calls them.
bool is_output(std::string_view name);

/// Freezes what the patterns of the recipe say (train_only, freeze). Error{kBadInput} for a pattern that no name
/// matches, and if nothing is left to train.
void freeze_parameters(const TrainConfig& recipe, nn::ParameterStore& parameters);

}  // namespace dragoman::training
