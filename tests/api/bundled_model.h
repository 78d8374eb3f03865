#pragma once

#include "test_data.h"

#include <string>
#include <vector>

#include <dragoman/dragoman.h>

namespace dragoman {

inline const std::vector<std::string> kSources = {
    "Ein Hund läuft am Strand.",
    "Zwei Männer mit Hüten sitzen auf einer Bank und lesen Zeitung.",
    "",
    "Eine Frau in einem roten Kleid fährt mit dem Fahrrad durch die Stadt.",
    "Guten Morgen!",
    "Kinder spielen im Schnee, während ihre Eltern zusehen."};

/// The bundled model, whose folder has a tuned length penalty; loaded once for all tests.
/// In the type of the command `translate`.
inline const Model& bundled() {
  static const Model model(testing::in_source("examples/multi30k/model"),
                           {.threads = 2, .compute = ComputeChoice::kAuto});
  return model;
}
/// In the type of other commands.
inline const Model& bundled_as_stored() {
  static const Model model(testing::in_source("examples/multi30k/model"), {.threads = 2});
  return model;
}

}  // namespace dragoman
