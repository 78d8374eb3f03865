#pragma once

#include "foreign_model.h"

namespace dragoman::fuzz {

/// model.bin, config.json and the vocabulary of a folder of CTranslate2.
inline bool exercise_ctranslate2(std::string_view bytes) {
  return read_foreign_model(
      "ctranslate2", put_foreign_files("ctranslate2", bytes, {"model.bin", "config.json", "shared_vocabulary.json"}));
}

inline Target ctranslate2_target() {
  return {.name = "ctranslate2",
          .exercise = exercise_ctranslate2,
          .budget = {.milliseconds = 200,
                     .microseconds_per_byte = 10,
                     .bytes = std::size_t{32} << 20,
                     .bytes_per_byte = 256},
          .rounds = 100};
}

}  // namespace dragoman::fuzz
