#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/formats/opened_model.h>

namespace dragoman::formats {

/// Opens a file or a folder. `own` are the options that belong to this importer alone; the caller finish()es it.
using ModelImporterFactory =
    std::function<std::unique_ptr<OpenedModel>(const std::filesystem::path& path, core::OptionReader& own)>;

/// An importer: it opens the models of another toolkit.
struct ModelImporter {
  std::string name;  ///< the name that `convert --from` takes
  std::string summary;
  ModelImporterFactory make;
  /// Returns whether this importer opens the file or folder, judged by names and first bytes. It is called for any
  /// path, and returns false for Dragoman's model folders.
  std::function<bool(const std::filesystem::path& path)> recognises;
  /// Writes a small model into an empty folder, and returns the path for make(): the folder, or a file in it. Used by
  /// the conformance kit.
  std::function<std::filesystem::path(const std::filesystem::path& folder)> write_example;
  /// Returns the reason why recognises() refused a path that seems intended for this importer; empty if the path does
  /// not seem so. May be unset.
  std::function<std::string(const std::filesystem::path& path)> why_not{};
};

/// The importer that recognises the file or folder at `path`; nullptr if none does, or if it is something else, such as
/// a pipe. Error{kInvalidArgument} that names them if several do.
const ModelImporter* find_importer(std::span<const ModelImporter* const> importers, const std::filesystem::path& path);

/// Throws the reason why a path that is neither a model folder nor recognised cannot be opened, if it is known: folders
/// in it that are models, a Git LFS pointer, or what an importer gives as its reason.
void explain_unrecognised(std::span<const ModelImporter* const> importers, const std::filesystem::path& path);

/// Opens a model with an importer. Error{kBadInput} for an option that the importer does not know, for a configuration
/// that a config.json could not hold, and for what the importer throws.
std::unique_ptr<OpenedModel> open_with(const ModelImporter& importer, const std::filesystem::path& path,
                                       const core::Json& options = core::Json::object());

/// Opens a model folder without its tokenizers or, with the importer's default options, a model that an importer
/// recognises. For any other path, the error gives the reason why it is not a model folder.
std::unique_ptr<OpenedModel> open_model(const std::filesystem::path& path,
                                        std::span<const ModelImporter* const> importers);

}  // namespace dragoman::formats
