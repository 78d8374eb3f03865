#pragma once

#include "foreign_model.h"

namespace dragoman::fuzz {

/// A model of Marian, .npz or .bin as its first bytes say, and its vocabulary.
inline bool exercise_marian(std::string_view bytes) {
  return read_foreign_model("marian", put_foreign_files("marian", bytes, {"model.npz", "vocab.yml", "decoder.yml"}));
}

inline Target marian_target() {
  // What is deflated may become a thousand times as long, once as it stands and once turned.
  return {.name = "marian",
          .exercise = exercise_marian,
          .budget = {.milliseconds = 200,
                     .microseconds_per_byte = 20,
                     .bytes = std::size_t{32} << 20,
                     .bytes_per_byte = 4096},
          .rounds = 100};
}

}  // namespace dragoman::fuzz
