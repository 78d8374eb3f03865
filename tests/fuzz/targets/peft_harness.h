#pragma once

#include "foreign_model.h"

#include <dragoman/plugins/host.h>

namespace dragoman::fuzz {

inline constexpr const char* kAdapterFiles[] = {"adapter_config.json", "adapter_model.safetensors"};

/// The importer's example: adapters, and below them, in `base`, the model that they are for.
inline std::filesystem::path peft_example() {
  static const std::filesystem::path folder = [] {
    plugins::Host host;
    const std::filesystem::path made = scratch() / "peft-example";
    std::filesystem::create_directory(made);
    return host.registry().model_importers().get("peft").write_example(made);
  }();
  return folder;
}

/// Adapters in the files of PEFT, merged with the example's model, whatever they name. True if that worked.
inline bool exercise_peft(std::string_view bytes) {
  const core::Json options = {{"base", (peft_example() / "base").string()}};
  return read_foreign_model("peft", put_foreign_files("peft", bytes, {kAdapterFiles[0], kAdapterFiles[1]}), options);
}

/// The model, which is small, is read with every input.
inline Target peft_target() {
  return {.name = "peft",
          .exercise = exercise_peft,
          .budget = {.milliseconds = 200, .bytes = std::size_t{32} << 20},
          .rounds = 100};
}

}  // namespace dragoman::fuzz
