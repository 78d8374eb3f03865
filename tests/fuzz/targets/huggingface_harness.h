#pragma once

#include "model_folder_harness.h"

#include <dragoman/core/folder.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::fuzz {

inline constexpr const char* kForeignFiles[] = {"config.json",  "generation_config.json", "vocab.json",
                                                "merges.txt",   "tokenizer_config.json",  "model.safetensors",
                                                "spiece.model", "added_tokens.json",      "tokenizer.json"};

/// Weights of 8 bits become 32 bits, and names become longer.
inline constexpr std::size_t kMaxWritten = std::size_t{1} << 20;
inline constexpr std::size_t kMaxWrittenPerByte = 16;

inline std::size_t size_of_folder(const std::filesystem::path& folder) {
  std::size_t size = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.is_regular_file()) size += file.file_size();
  return size;
}

/// Imports a folder of transformers whose files stand in the input one behind the other. True if that worked.
inline bool exercise_huggingface(std::string_view bytes) {
  static plugins::Host host;
  const std::filesystem::path folder = scratch() / "foreign";
  const std::size_t input = bytes.size();
  core::remove_folder(folder);
  std::filesystem::create_directory(folder);
  for (const char* name : kForeignFiles) {
    const std::size_t end = bytes.find(kNextFile);
    if (const std::string_view content = bytes.substr(0, end); !content.empty()) put_file(folder / name, content);
    bytes = end == std::string_view::npos ? std::string_view() : bytes.substr(end + kNextFile.size());
  }
  return accepts([&] {
    plugins::import_model(folder, scratch() / "imported", host, {.importer = "huggingface"});
    promise(size_of_folder(scratch() / "imported") <= kMaxWritten + kMaxWrittenPerByte * input,
            "an import writes no more than in proportion to what it reads");
    promise(plugins::load_model(scratch() / "imported", host).model->parameters().count() > 0, "an import opens");
  });
}

inline Target huggingface_target() {
  return {.name = "huggingface",
          .exercise = exercise_huggingface,
          .budget = {.milliseconds = 400,
                     .microseconds_per_byte = 20,
                     .bytes = std::size_t{64} << 20,
                     .bytes_per_byte = 256},
          .rounds = 60};
}

}  // namespace dragoman::fuzz
