#include "dragoman/dragoman.h"

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/plugins/host.h>
#include <dragoman/training/trainer.h>

namespace dragoman {

struct TrainConfig::Impl {
  core::Json tree;
  std::string name;
};

TrainConfig::TrainConfig(Impl impl) : impl_(std::make_unique<Impl>(std::move(impl))) {}
TrainConfig::TrainConfig(const TrainConfig& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
TrainConfig& TrainConfig::operator=(const TrainConfig& other) {
  *this = TrainConfig(other);
  return *this;
}
TrainConfig::TrainConfig(TrainConfig&&) noexcept = default;
TrainConfig& TrainConfig::operator=(TrainConfig&&) noexcept = default;
TrainConfig::~TrainConfig() = default;

TrainConfig TrainConfig::read(const std::filesystem::path& file) {
  return TrainConfig({core::load_yaml(file.string()), file.string()});
}
TrainConfig TrainConfig::parse(std::string_view yaml, const std::string& name) {
  return TrainConfig({core::parse_yaml(yaml, name), name});
}
TrainConfig& TrainConfig::set(std::string_view key, std::string_view value) {
  core::set_option(impl_->tree, fmt::format("{}={}", key, value), "");
  return *this;
}
std::string TrainConfig::to_yaml() const {
  return core::dump_yaml(impl_->tree);
}

TrainResult train(const TrainConfig& config, const TrainOptions& options) {
  plugins::Host& host = plugins::default_host();
  const training::TrainingConfig read = training::read_training_config(config.impl().tree, config.impl().name);
  // Loads the plugin that provides the device.
  host.device(read.device, {.batch_invariant = read.training.batch_invariant, .memory = read.training.device_memory},
              options.log);
  training::TrainerEnvironment environment = training::make_environment(host);
  environment.log = options.log;
  environment.progress = options.progress;
  for (const auto& entry : options.metrics)
    environment.metrics[entry.first] = [metric = entry.second](const training::MetricTexts& texts) {
      return metric({texts.sources, texts.hypotheses, texts.references});
    };
  environment.build["dragoman"] = DRAGOMAN_VERSION;
  training::Trainer trainer(read, std::move(environment),
                            options.resume ? training::StartMode::kResume : training::StartMode::kFresh, options.stop);
  const training::TrainingSummary summary = trainer.run(options.stop);
  TrainResult result{.model = summary.model,
                     .updates = summary.updates,
                     .epochs = summary.epochs,
                     .stopped_early = summary.stopped_early,
                     .metric = summary.metric};
  if (summary.best) result.best = summary.best->value;
  if (summary.average) result.best = *summary.average;
  return result;
}

}  // namespace dragoman
