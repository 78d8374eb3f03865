#include "dragoman/training/trainer.h"

#include <dragoman/core/json.h>

namespace dragoman::training {

TrainerEnvironment make_environment(const plugins::Host& host) {
  TrainerEnvironment environment;
  environment.runtime = &host.runtime();
  environment.make_model = [&host](const std::string& type, const nn::SequenceSpec& spec, const core::Json& options) {
    return host.registry().models().get(type).make(spec, options);
  };
  environment.plugin_of = [&host](const std::string& type) {
    const auto* registered = host.registry().models().find(type);
    return registered == nullptr || registered->provider == plugins::kBuiltin ? std::string() : registered->provider;
  };
  environment.build = {{"compiler", __VERSION__}};
  return environment;
}

}  // namespace dragoman::training
