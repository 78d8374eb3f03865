#include "peft/module_names.h"

#include "huggingface/t5.h"
#include "weights/bart_names.h"

#include <algorithm>

namespace dragoman::imports {
namespace {

constexpr std::string_view kWeight = ".weight";

void add_module(std::vector<AdaptedModule>& modules, const std::string& tensor, const std::string& parameter,
                std::size_t part, std::size_t parts) {
  if (tensor.ends_with(kWeight))
    modules.push_back({tensor.substr(0, tensor.size() - kWeight.size()), parameter, static_cast<std::int64_t>(part),
                       static_cast<std::int64_t>(parts)});
}

std::vector<AdaptedModule> modules_of_transformer(const transformer::Config& config,
                                                  const std::vector<std::string>& parameters) {
  std::vector<AdaptedModule> modules;
  // There, layers with the parameters of others and gated ones have modules that are no share of a weight of ours.
  if (!config.encoder_tied_layers.empty() || !config.decoder_tied_layers.empty() || config.activation.gated)
    return modules;
  const WeightPlan plan = plan_transformer({.config = config, .sequences = {}}, BartNames(BartNames::Options{}));
  for (const std::string& parameter : parameters) {
    const PlannedWeight* planned = find(plan, parameter);
    if (planned == nullptr || planned->is_vector) continue;
    for (std::size_t part = 0; part < planned->parts.size(); ++part)
      add_module(modules, planned->parts[part].name, parameter, part, planned->parts.size());
  }
  return modules;
}

std::vector<AdaptedModule> modules_of_t5(const t5::Config& config, const std::vector<std::string>& parameters) {
  std::vector<AdaptedModule> modules;
  for (const std::string& parameter : parameters) {
    if (is_t5_table(parameter)) continue;
    const std::vector<std::string> tensors = t5_tensors(parameter, config);
    for (std::size_t part = 0; part < tensors.size(); ++part)
      add_module(modules, tensors[part], parameter, part, tensors.size());
  }
  return modules;
}

}  // namespace

std::vector<AdaptedModule> modules_of_transformers(std::string_view model_type, const core::Json& model,
                                                   const std::vector<std::string>& parameters) {
  if (model_type == "transformer") return modules_of_transformer(transformer::read_config(model, "model"), parameters);
  if (model_type == "t5") return modules_of_t5(t5::read_config(model, "model"), parameters);
  return {};
}

std::string own_module_name(std::string_view parameter) {
  if (parameter.ends_with(kWeight)) parameter.remove_suffix(kWeight.size());
  return std::string(parameter);
}

}  // namespace dragoman::imports
