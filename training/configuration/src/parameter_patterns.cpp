#include "configuration/parameter_patterns.h"

#include <algorithm>

#include <fmt/format.h>
#include <fnmatch.h>

#include <dragoman/core/error.h>
#include <dragoman/core/nearest_name.h>
#include <dragoman/core/quote.h>

namespace dragoman::training {

using core::ErrorCode;

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

void require_matches(const std::vector<std::string>& patterns, const std::vector<std::string>& names,
                     std::string_view key, std::string_view kind) {
  for (const std::string& pattern : patterns) {
    if (std::ranges::any_of(names, [&](const std::string& name) { return matches_any({pattern}, name); })) continue;
    const std::string near = core::nearest_name(pattern, names);
    core::fail(
        ErrorCode::kBadInput,
        "training.{}: no {} of the model is called {}{}; the table of tensors that `inspect` shows has the names", key,
        kind, core::Quoted{pattern}, near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
  }
}

bool is_output(std::string_view name) {
  return name == "output.weight" || name == "output.bias" || name.ends_with(".output.weight") ||
         name.ends_with(".output.bias");
}

void freeze_parameters(const TrainConfig& recipe, nn::ParameterStore& parameters) {
  if (recipe.train_only.empty() && recipe.freeze.empty()) return;
  std::vector<std::string> names;
  for (const nn::Parameter& parameter : parameters.all()) names.push_back(parameter.name);
  require_matches(recipe.train_only, names, "train_only", "parameter");
  require_matches(recipe.freeze, names, "freeze", "parameter");
  bool any = false;
  for (nn::Parameter& parameter : parameters.all()) {
    const bool left_out = !recipe.train_only.empty() && !matches_any(recipe.train_only, parameter.name);
    if (left_out || matches_any(recipe.freeze, parameter.name)) parameter.frozen = true;
    any = any || !parameter.frozen;
  }
  core::require(any, ErrorCode::kBadInput,
                "training.train_only and training.freeze leave no parameter that is trained");
}

}  // namespace dragoman::training
