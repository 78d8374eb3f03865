#pragma once

#include "weights/foreign_tensors.h"

#include <filesystem>
#include <string>

#include <dragoman/core/json.h>

namespace dragoman::imports {

/// A folder as `save_pretrained()` of transformers writes it, and as models are published: its JSON files, read.
struct HuggingFaceFolder {
  std::filesystem::path path;
  core::Json config;
  /// What a search is told, of generation_config.json, else of config.json.
  core::Json generation;
  core::Json tokenizer = core::Json::object();  ///< tokenizer_config.json

  /// Error{kIo or kBadInput} naming the file.
  explicit HuggingFaceFolder(std::filesystem::path folder);

  bool has(const char* file) const;
  std::filesystem::path file(const char* name) const { return path / name; }
  std::string config_name() const { return file("config.json").string(); }
  /// Of any of the files that a folder may have: `vocab.json` and its like. Error{kBadInput} unless it is an object.
  core::Json object_of(const char* name) const;
};

/// The weights of a folder: model.safetensors or pytorch_model.bin, in one piece or as their index says.
ForeignTensors open_weights(const HuggingFaceFolder& folder);

/// Of a folder with a config.json that is none of them: why; empty: it has none, or it is one of ours.
std::string why_no_huggingface_folder(const std::filesystem::path& folder, const std::vector<const char*>& types);

/// Whether the folder has a config.json with a `model_type` and none of the marks of another toolkit's.
bool is_huggingface_folder(const std::filesystem::path& folder, const char* const* types, std::size_t count);

}  // namespace dragoman::imports
