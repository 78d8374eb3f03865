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

std::map<std::string, std::vector<AdaptedModule>> modules_of_transformer(const transformer::Config& config) {
  std::map<std::string, std::vector<AdaptedModule>> modules;
  // In transformers, tied and gated layers have modules that are not a share of one of Dragoman's weights.
  if (!config.encoder_tied_layers.empty() || !config.decoder_tied_layers.empty() || config.activation.gated)
    return modules;
  for (const PlannedWeight& planned :
       plan_transformer({.config = config, .sequences = {}}, BartNames(BartNames::Options{}))) {
    if (planned.is_vector || modules.contains(planned.parameter)) continue;
    std::vector<AdaptedModule>& found = modules[planned.parameter];
    for (std::size_t part = 0; part < planned.parts.size(); ++part)
      add_module(found, planned.parts[part].name, planned.parameter, part, planned.parts.size());
  }
  return modules;
}

std::vector<AdaptedModule> modules_of_t5(const t5::Config& config, const std::string& parameter) {
  std::vector<AdaptedModule> modules;
  if (is_t5_table(parameter)) return modules;
  const std::vector<std::string> tensors = t5_tensors(parameter, config);
  for (std::size_t part = 0; part < tensors.size(); ++part)
    add_module(modules, tensors[part], parameter, part, tensors.size());
  return modules;
}

}  // namespace

TransformersModules::TransformersModules(std::string_view model_type, const core::Json& model) {
  if (model_type == "transformer") planned_ = modules_of_transformer(transformer::read_config(model, "model"));
  if (model_type == "t5") t5_ = t5::read_config(model, "model");
}

std::vector<AdaptedModule> TransformersModules::of(const std::string& parameter) const {
  if (t5_) return modules_of_t5(*t5_, parameter);
  const auto found = planned_.find(parameter);
  return found == planned_.end() ? std::vector<AdaptedModule>() : found->second;
}

std::string own_module_name(std::string_view parameter) {
  if (parameter.ends_with(kWeight)) parameter.remove_suffix(kWeight.size());
  return std::string(parameter);
}

}  // namespace dragoman::imports
