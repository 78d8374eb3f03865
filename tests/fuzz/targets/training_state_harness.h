#pragma once

#include "run/checkpoint.h"
#include "target.h"

#include <string>
#include <string_view>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/training/early_stopping.h>

namespace dragoman::fuzz {

/// Reads a checkpoint's state.json with what early stopping keeps in it. True if it was one.
inline bool exercise_training_state(std::string_view bytes) {
  return accepts([&] {
    const training::TrainingState state = training::read_training_state(core::parse_json(bytes, "fuzz"), "fuzz");
    const core::Json json = training::to_json(state);
    promise(training::to_json(training::read_training_state(json, "written again")) == json,
            "a state that is written and read is the same");
    training::EarlyStopping stopping({.patience = 2, .remember = 3});
    stopping.restore(state.early_stopping, "fuzz");
    training::EarlyStopping again({.patience = 2, .remember = 3});
    again.restore(stopping.save(), "written again");
    promise(again.ranking() == stopping.ranking() && again.exhausted() == stopping.exhausted(),
            "early stopping that is written and read is the same");
    stopping.observe(state.update, state.window_loss);
    promise(!stopping.ranking().empty() && stopping.ranking().size() <= 3, "the best updates are remembered");
  });
}

inline std::string long_ranking(std::string_view seed, std::size_t size) {
  core::Json json = core::Json::parse(seed);
  core::Json ranking = core::Json::array();
  for (std::size_t i = 0; i < size / 30; ++i) ranking.push_back({{"update", i}, {"value", 1 + static_cast<double>(i)}});
  json["early_stopping"]["ranking"] = ranking;
  return json.dump();
}

inline Target training_state_target() {
  return {
      .name = "training_state",
      .exercise = exercise_training_state,
      .growths = {{"a long ranking", "state.json", long_ranking}},
  };
}

}  // namespace dragoman::fuzz
