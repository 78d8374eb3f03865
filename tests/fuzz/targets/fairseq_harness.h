#pragma once

#include "foreign_model.h"
#include "repaired_zip.h"
#include "torch_growth.h"

namespace dragoman::fuzz {

/// A checkpoint of fairseq and its dictionaries, with kNextForeignFile between them. True if it was a model.
inline bool exercise_fairseq(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find(kNextForeignFile), bytes.size());
  const std::string files = with_right_sums(bytes.substr(0, end)) + std::string(bytes.substr(end));
  return read_foreign_model("fairseq",
                            put_foreign_files("fairseq", files, {"checkpoint_best.pt", "dict.de.txt", "dict.en.txt"}));
}

/// A checkpoint is opened once to be recognised and once to be read; a layer has some thirty names.
inline Target fairseq_target() {
  return {
      .name = "fairseq",
      .exercise = exercise_fairseq,
      .budget = {.milliseconds = 300, .bytes = std::size_t{64} << 20},
      .rounds = 100,
      .growths = {{"settings of one text", "example", settings_of_one_text, "more than any model's"},
                  {"weights of one storage", "example", weights_of_one_storage, "parts of the model share them"}},
      .refuses_growth = "its settings are bounded, and its weights are those that they speak of",
  };
}

}  // namespace dragoman::fuzz
