#pragma once

#include <filesystem>
#include <optional>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/decoding/shortlist.h>

namespace dragoman::imports {

/// The paths of the parts of a Marian model, and its decoding settings.
struct MarianFiles {
  std::filesystem::path model;
  std::filesystem::path source_vocabulary;
  std::filesystem::path target_vocabulary;
  std::filesystem::path shortlist;  ///< empty if there is none
  decoding::ShortlistLimits shortlist_limits{};
  core::Json decoding = core::Json::object();  ///< ModelConfig::decoding
};

/// Finds the parts of a model, given a model file, a configuration of marian-decoder, or a folder with one or both.
/// Paths in the options have priority. Throws Error{kBadInput or kInvalidArgument} that names the missing part.
MarianFiles find_marian_files(const std::filesystem::path& path, core::OptionReader& own);

/// Returns whether find_marian_files() would find a model there, judged by names and first bytes only.
bool is_marian_model(const std::filesystem::path& path);

}  // namespace dragoman::imports
