#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/t5/config.h>

namespace dragoman::imports {

/// A linear layer with its name in PEFT ("model.encoder.layers.0.self_attn.q_proj"), and its share of one of Dragoman's
/// weights.
struct AdaptedModule {
  std::string name;
  std::string parameter;
  /// The share number `part` of `parts` equal shares of the parameter's rows.
  std::int64_t part = 0;
  std::int64_t parts = 1;
};

/// The names in transformers of the linear layers of a model.
class TransformersModules {
 public:
  /// `model` is the configuration of the model type.
  TransformersModules(std::string_view model_type, const core::Json& model);

  /// Returns the linear layers that form a parameter, in the order of its rows. Empty if transformers lacks the model
  /// or names its layers differently.
  std::vector<AdaptedModule> of(const std::string& parameter) const;

 private:
  std::map<std::string, std::vector<AdaptedModule>> planned_;  ///< for a Transformer, by parameter
  std::optional<t5::Config> t5_;
};

/// Returns the module name of a weight that transformers lacks: the weight's name without ".weight".
std::string own_module_name(std::string_view parameter);

}  // namespace dragoman::imports
