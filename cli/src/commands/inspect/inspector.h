#pragma once

#include "report.h"

#include <filesystem>
#include <string_view>

#include <dragoman/core/log.h>

namespace dragoman::cli {

struct InspectOptions {
  bool verify = false;   ///< compare with SHA256SUMS, and an import with its reference
  bool tensors = false;  ///< list each tensor
  core::LogSink log = {};
};

/// A kind of file or folder that can be inspected. The first inspector that recognises the path describes it, with an
/// error if it is damaged.
struct Inspector {
  std::string_view kind;
  bool (*recognises)(const std::filesystem::path& path);
  Report (*describe)(const std::filesystem::path& path, const InspectOptions& options);
  bool has_checksums = false;
};

// weights.cpp
bool is_safetensors(const std::filesystem::path& path);
Report describe_weights(const std::filesystem::path& path, const InspectOptions& options);

// folders.cpp
Report describe_model_folder(const std::filesystem::path& path, const InspectOptions& options);
/// Returns whether one of the built-in importers recognises the path.
bool is_foreign_model(const std::filesystem::path& path);
Report describe_foreign_model(const std::filesystem::path& path, const InspectOptions& options);
bool is_checkpoint(const std::filesystem::path& path);
Report describe_checkpoint(const std::filesystem::path& path, const InspectOptions& options);
bool is_training_run(const std::filesystem::path& path);
Report describe_training_run(const std::filesystem::path& path, const InspectOptions& options);

// tokenizer.cpp
bool is_tokenizer(const std::filesystem::path& path);
Report describe_tokenizer_file(const std::filesystem::path& path, const InspectOptions& options);

// shared_library.cpp
bool is_plugin(const std::filesystem::path& path);
Report describe_plugin(const std::filesystem::path& path, const InspectOptions& options);
bool is_shared_library(const std::filesystem::path& path);
Report describe_shared_library(const std::filesystem::path& path, const InspectOptions& options);

/// Returns the first bytes of a regular file, fewer if it is shorter; nothing for other paths.
std::string first_bytes(const std::filesystem::path& path, std::size_t count);

}  // namespace dragoman::cli
