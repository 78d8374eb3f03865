#include "dragoman/training/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/json.h>
#include <dragoman/plugins/open_tokenizer.h>

namespace dragoman::training {

TrainerEnvironment make_environment(const plugins::Host& host) {
  TrainerEnvironment environment;
  environment.runtime = &host.runtime();
  environment.make_model = [&host](const std::string& type, const nn::SequenceSpec& spec, const core::Json& options) {
    return host.registry().models().get(type).make(spec, options);
  };
  environment.plugin_of = [&host](const std::string& type) {
    return plugins::plugin_of(host.registry().models(), type);
  };
  environment.make_tokenizer = [&host](const tokenizer::TokenizerSpec& spec, const tokenizer::TokenizerFile& file) {
    return plugins::make_tokenizer(host.registry(), spec, file);
  };
  environment.plugin_of_tokenizer = [&host](const std::string& type) {
    return plugins::plugin_of(host.registry().tokenizers(), type);
  };
  environment.build = {{"compiler", __VERSION__}};
  return environment;
}

std::vector<std::string> commands_of(const TrainingConfig& config) {
  std::vector<std::string> commands;
  for (const MetricChoice& metric : config.validation.metrics)
    if (metric.kind == ValidationMetric::kCommand)
      commands.push_back(fmt::format("{}: {}", metric.name(), fmt::join(metric.external.command, " ")));
  return commands;
}

}  // namespace dragoman::training
