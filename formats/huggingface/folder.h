#pragma once

#include "weights/foreign_tensors.h"

#include <filesystem>
#include <string>

#include <dragoman/core/json.h>

namespace dragoman::imports {

/// A folder as written by `save_pretrained()` of transformers, and as models are published. Its JSON files have been
/// read.
struct HuggingFaceFolder {
  std::filesystem::path path;
  core::Json config;
  /// The search settings of generation_config.json, or else of config.json.
  core::Json generation;
  core::Json tokenizer = core::Json::object();  ///< tokenizer_config.json

  /// Throws Error{kIo or kBadInput} that names the file.
  explicit HuggingFaceFolder(std::filesystem::path folder);

  bool has(const char* file) const;
  std::filesystem::path file(const char* name) const { return path / name; }
  std::string config_name() const { return file("config.json").string(); }
  /// Returns the content of an optional file of the folder, such as `vocab.json`. Throws Error{kBadInput} unless it is
  /// an object.
  core::Json object_of(const char* name) const;
};

/// Opens the weights of a folder: model.safetensors or pytorch_model.bin, in one file or in the files of their index.
ForeignTensors open_weights(const HuggingFaceFolder& folder);

/// Returns the reason why a folder with a config.json is not a supported transformers folder. Empty if it has no
/// config.json or if it is a supported one.
std::string why_no_huggingface_folder(const std::filesystem::path& folder, const std::vector<const char*>& types);

/// Returns whether the folder has a config.json with a `model_type` and without the marks of another toolkit.
bool is_huggingface_folder(const std::filesystem::path& folder, const char* const* types, std::size_t count);

}  // namespace dragoman::imports
