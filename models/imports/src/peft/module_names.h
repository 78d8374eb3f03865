#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/json.h>

namespace dragoman::imports {

/// A linear layer as PEFT names it ("model.encoder.layers.0.self_attn.q_proj"), and what of our weights it is.
struct AdaptedModule {
  std::string name;
  std::string parameter;
  /// Share `part` of `parts` of the parameter's rows.
  std::int64_t part = 0;
  std::int64_t parts = 1;
};

/// The linear layers that these parameters of a model are, as transformers names them; none of a model that it has not,
/// or names otherwise. `model` is the type's configuration.
std::vector<AdaptedModule> modules_of_transformers(std::string_view model_type, const core::Json& model,
                                                   const std::vector<std::string>& parameters);

/// The module that a weight is where transformers has none: its name without ".weight".
std::string own_module_name(std::string_view parameter);

}  // namespace dragoman::imports
