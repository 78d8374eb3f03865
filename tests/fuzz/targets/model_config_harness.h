#pragma once

#include "target.h"

#include <string_view>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/plugins/host.h>

namespace dragoman::fuzz {

/// Reads a config.json and makes the model that it describes, without weights. True if both worked.
inline bool exercise_model_config(std::string_view bytes) {
  static const plugins::Host host;
  return accepts([&] {
    const formats::ModelConfig config = formats::read_model_config(core::parse_json(bytes, "fuzz"), "fuzz");
    const core::Json json = formats::to_json(config);
    promise(formats::to_json(formats::read_model_config(json, "written again")) == json,
            "a configuration that is written and read is the same");
    const auto model = host.registry().models().get(config.model_type).make(config.sequences, config.model);
    promise(model->parameters().count() > 0, "a model has parameters, and their number fits its type");
    const auto again = host.registry().models().get(config.model_type).make(config.sequences, model->config());
    promise(again->parameters().count() == model->parameters().count(), "a model's own account makes an equal model");
  });
}

/// Two stacks of 1,024 layers are allowed, and 30,000 parameters have names.
inline Target model_config_target() {
  return {
      .name = "model_config",
      .exercise = exercise_model_config,
      .budget = {.milliseconds = 300, .bytes = std::size_t{64} << 20},
      .refuses_growth = "it has no lists but those of at most 1,024 layers",
  };
}

}  // namespace dragoman::fuzz
