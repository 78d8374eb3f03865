#pragma once

#include "scratch.h"
#include "target.h"

#include <string>
#include <string_view>

#include <dragoman/core/utf8.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/host.h>

namespace dragoman::fuzz {

/// What stands between the files of a folder that is one input.
inline constexpr std::string_view kNextFile = "\n%%\n";

/// Writes config.json, tokenizer.json, model.safetensors and tokenizer.model, in this order; files that the input lacks
/// are empty.
inline void put_model_folder(const std::filesystem::path& folder, std::string_view bytes) {
  std::filesystem::create_directory(folder);
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors", "tokenizer.model"}) {
    const std::size_t end = bytes.find(kNextFile);
    put_file(folder / name, bytes.substr(0, end));
    bytes = end == std::string_view::npos ? std::string_view() : bytes.substr(end + kNextFile.size());
  }
}

/// Translates a line with the model. True if that worked.
inline bool exercise_model_folder(std::string_view bytes) {
  static plugins::Host host;
  const std::filesystem::path folder = scratch() / "model";
  put_model_folder(folder, bytes);
  return accepts([&] {
    pipeline::TranslateOptions options;
    options.search.beam_size = 2;
    options.search.maximum_length = 8;
    pipeline::Translator translator(pipeline::Model(folder, host, {.threads = 1}), options);
    const std::string translation = translator.translate("a b  cab\xC3\xA9");
    promise(translation.find_first_of("\r\n") == std::string::npos, "a translation is one line");
    promise(core::find_invalid_utf8(translation) == std::string_view::npos, "a translation is valid UTF-8");
  });
}

inline Target model_folder_target() {
  return {.name = "model_folder",
          .exercise = exercise_model_folder,
          .budget = {.milliseconds = 200,
                     .microseconds_per_byte = 10,
                     .bytes = std::size_t{64} << 20,
                     .bytes_per_byte = 256},
          .rounds = 100};
}

}  // namespace dragoman::fuzz
