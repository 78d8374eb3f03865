#pragma once

#include "foreign_model.h"
#include "growth.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

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

inline std::string grown_adapters(std::string_view seed, std::size_t size, const char* key) {
  const auto [text, rest] = split_files(seed);
  core::Json config = core::Json::parse(text);
  for (std::size_t i = 0; i < size / 20; ++i) config[key][fmt::format("module_{}", i)] = 2;
  return config.dump() + std::string(rest);
}

inline std::string many_ranks(std::string_view seed, std::size_t size) {
  return grown_adapters(seed, size, "rank_pattern");
}

inline std::string many_alphas(std::string_view seed, std::size_t size) {
  return grown_adapters(seed, size, "alpha_pattern");
}

inline std::string many_modules(std::string_view seed, std::size_t size) {
  const auto [text, rest] = split_files(seed);
  core::Json config = core::Json::parse(text);
  for (std::size_t i = 0; i < size / 20; ++i) config["target_modules"].push_back(fmt::format("module_{}", i));
  return config.dump() + std::string(rest);
}

/// The model, which is small, is read with every input.
inline Target peft_target() {
  return {
      .name = "peft",
      .exercise = exercise_peft,
      .budget = {.milliseconds = 200, .bytes = std::size_t{32} << 20},
      .rounds = 100,
      .growths = {{"many ranks", "patterns", many_ranks},
                  {"many alphas", "patterns", many_alphas},
                  {"many modules", "patterns", many_modules}},
  };
}

}  // namespace dragoman::fuzz
