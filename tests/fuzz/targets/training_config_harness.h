#pragma once

#include "target.h"

#include <string_view>

#include <dragoman/core/yaml.h>
#include <dragoman/plugins/host.h>
#include <dragoman/training/config.h>
#include <dragoman/training/trainer.h>

namespace dragoman::fuzz {

/// Reads a train.yml and makes its model, without weights. True if both worked.
inline bool exercise_training_config(std::string_view bytes) {
  static const plugins::Host host;
  return accepts([&] {
    const auto config = training::read_training_config(core::parse_yaml(bytes, "fuzz"), "fuzz");
    const core::Json json = training::to_json(config);
    const auto again = training::read_training_config(json, "written again");
    promise(training::to_json(again) == json, "a configuration that is written and read is the same");
    promise(training::keys_that_affect_results(again) == training::keys_that_affect_results(config),
            "what affects results is the same in both");
    const core::Json resolved = training::resolved_configuration(config, training::make_environment(host));
    promise(training::to_json(training::read_training_config(resolved, "resolved")) == resolved,
            "a configuration with every key is one, too");
  });
}

/// As for model_config, and YAML.
inline Target training_config_target() {
  return {.name = "training_config",
          .exercise = exercise_training_config,
          .budget = {
              .milliseconds = 300, .microseconds_per_byte = 5, .bytes = std::size_t{64} << 20, .bytes_per_byte = 1024}};
}

}  // namespace dragoman::fuzz
