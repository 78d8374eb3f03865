#pragma once

#include <filesystem>
#include <optional>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/decoding/shortlist.h>

namespace dragoman::imports {

/// Where the parts of a model of Marian are, and how it is decoded.
struct MarianFiles {
  std::filesystem::path model;
  std::filesystem::path source_vocabulary;
  std::filesystem::path target_vocabulary;
  std::filesystem::path shortlist;  ///< empty: none
  decoding::ShortlistLimits shortlist_limits{};
  core::Json decoding = core::Json::object();  ///< ModelConfig::decoding
};

/// From a model file, a configuration of marian-decoder, or a folder with both or either; what the options name goes
/// before what is found. Error{kBadInput or kInvalidArgument} that says what is missing.
MarianFiles find_marian_files(const std::filesystem::path& path, core::OptionReader& own);

/// Whether find_marian_files() would find a model there; looks at names and beginnings only.
bool is_marian_model(const std::filesystem::path& path);

}  // namespace dragoman::imports
