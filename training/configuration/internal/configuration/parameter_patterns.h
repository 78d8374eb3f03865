#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// Returns whether one of the shell patterns matches the name.
bool matches_any(const std::vector<std::string>& patterns, const std::string& name);

/// Error{kBadInput} for a pattern that matches none of the names. `key` is the key below `training`, and `kind` the
/// kind of the names, such as "parameter".
void require_matches(const std::vector<std::string>& patterns, const std::vector<std::string>& names,
                     std::string_view key, std::string_view kind);

/// Returns whether a parameter is the matrix or the bias of the projection to the vocabulary, by the name that all
/// models here use.
bool is_output(std::string_view name);

/// Freezes the parameters that the recipe's patterns select (train_only, freeze). Error{kBadInput} for a pattern that
/// no name matches, and if nothing is left to train.
void freeze_parameters(const TrainConfig& recipe, nn::ParameterStore& parameters);

}  // namespace dragoman::training
