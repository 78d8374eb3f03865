#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/t5/config.h>

namespace dragoman::imports {

/// A linear layer as PEFT names it ("model.encoder.layers.0.self_attn.q_proj"), and what of our weights it is.
struct AdaptedModule {
  std::string name;
  std::string parameter;
  /// Share `part` of `parts` of the parameter's rows.
  std::int64_t part = 0;
  std::int64_t parts = 1;
};

/// How transformers names the linear layers of a model.
class TransformersModules {
 public:
  /// `model` is the type's configuration.
  TransformersModules(std::string_view model_type, const core::Json& model);

  /// The linear layers that a parameter is, in the order of its rows; none of a model that transformers has not, or
  /// names otherwise.
  std::vector<AdaptedModule> of(const std::string& parameter) const;

 private:
  std::map<std::string, std::vector<AdaptedModule>> planned_;  ///< of a Transformer, by parameter
  std::optional<t5::Config> t5_;
};

/// The module that a weight is where transformers has none: its name without ".weight".
std::string own_module_name(std::string_view parameter);

}  // namespace dragoman::imports
