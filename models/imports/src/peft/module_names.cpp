#include "peft/module_names.h"

#include "huggingface/bart_names.h"

namespace dragoman::imports {

constexpr std::string_view kWeight = ".weight";

std::vector<AdaptedModule> modules_of_transformers(std::string_view model_type, const core::Json& model) {
  if (model_type != "transformer") return {};
  const transformer::Config config = transformer::read_config(model, "model");
  // There, layers with the parameters of others and gated ones have modules that are no share of a weight of ours.
  if (!config.encoder_tied_layers.empty() || !config.decoder_tied_layers.empty() || config.activation.gated) return {};
  const TransformerShape shape{.config = config, .sequences = {}};
  std::vector<AdaptedModule> modules;
  for (const PlannedWeight& planned : plan_transformer(shape, BartNames(config.tying == transformer::Tying::kAll))) {
    const auto parts = static_cast<std::int64_t>(planned.parts.size());
    if (planned.is_vector || planned.parameter.ends_with("embedding.weight") ||
        planned.parameter.ends_with("positions.weight")) continue;
    for (std::int64_t part = 0; part < parts; ++part)
      if (const std::string& name = planned.parts[static_cast<std::size_t>(part)].name; name.ends_with(kWeight))
        modules.push_back({name.substr(0, name.size() - kWeight.size()), planned.parameter, part, parts});
  }
  return modules;
}

std::string own_module_name(std::string_view parameter) {
  if (parameter.ends_with(kWeight)) parameter.remove_suffix(kWeight.size());
  return std::string(parameter);
}

}  // namespace dragoman::imports
