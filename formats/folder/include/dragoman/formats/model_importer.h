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

/// Opens a file or a folder. `own` contains the options of this importer; the caller must finish() it.
using ModelImporterFactory =
    std::function<std::unique_ptr<OpenedModel>(const std::filesystem::path& path, core::OptionReader& own)>;

/// An importer, which opens the models of another toolkit. Plugins register importers with plugins::Registrar::add().
///
/// Its functions may be called from several threads at the same time. The files are untrusted: the functions check
/// everything and throw Error{kBadInput} that names file, place and reason.
struct ModelImporter {
  std::string name;  ///< the name for `convert --from`
  std::string summary;
  ModelImporterFactory make;
  /// Returns whether this importer opens the file or folder, judged by names and first bytes. It is called for any
  /// path, and must return false for Dragoman's model folders.
  std::function<bool(const std::filesystem::path& path)> recognises;
  /// Writes a small model into an empty folder and returns the path for make(): the folder, or a file in it. Used by
  /// the conformance kit.
  std::function<std::filesystem::path(const std::filesystem::path& folder)> write_example;
  /// Returns the reason why recognises() rejected a path that seems to be meant for this importer. For other paths,
  /// returns an empty string. May be unset.
  std::function<std::string(const std::filesystem::path& path)> why_not{};
};

/// Returns the importer that recognises the file or folder at `path`, or nullptr if none does or if it is something
/// else, such as a pipe. If several do, throws Error{kInvalidArgument} that names them.
const ModelImporter* find_importer(std::span<const ModelImporter* const> importers, const std::filesystem::path& path);

/// Throws an error with the reason why a path that is neither a model folder nor recognised cannot be opened, if there
/// is a known one: it contains model folders, it is a Git LFS pointer, or an importer gives a reason.
void explain_unrecognised(std::span<const ModelImporter* const> importers, const std::filesystem::path& path);

/// Opens a model with an importer. Throws Error{kBadInput} for an unknown option and for a configuration that a
/// config.json could not express, and the errors of the importer.
std::unique_ptr<OpenedModel> open_with(const ModelImporter& importer, const std::filesystem::path& path,
                                       const core::Json& options = core::Json::object());

/// Opens a model folder without its tokenizers, or a model that an importer recognises, with the importer's default
/// options. For any other path, the error states why it is not a model folder.
///
///     std::string type_of(const std::filesystem::path& path, std::span<const ModelImporter* const> importers) {
///       return open_model(path, importers)->config().model_type;
///     }
std::unique_ptr<OpenedModel> open_model(const std::filesystem::path& path,
                                        std::span<const ModelImporter* const> importers);

}  // namespace dragoman::formats
