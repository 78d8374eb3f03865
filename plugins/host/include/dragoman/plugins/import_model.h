#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/core/log.h>
#include <dragoman/plugins/host.h>

namespace dragoman::plugins {

struct ImportOptions {
  /// The name of a registered importer; empty: the one that recognises the path.
  std::string importer{};
  core::Json options = core::Json::object();  ///< of that importer, which reads them itself
  /// Whether plugins that the foreign files name may be loaded from the host's plugin folder. If not, they must be
  /// loaded already.
  bool may_load_plugin = true;
  /// Asked before each parameter is read: then Error{kInterrupted}, and no folder.
  std::stop_token stop{};
  /// Hears what the files ask for and cannot be followed.
  core::LogSink log{};
};

/// The importer that recognises the file or folder at `path`; nullptr if none does, or if it is something else, such as
/// a pipe. Error{kInvalidArgument} that names them if several do.
const ModelImporterEntry* find_importer(const Registry& registry, const std::filesystem::path& path);

/// Throws the reason why a path that no importer recognises is not a model that can be opened, if it is known.
void explain_unrecognised(const Registry& registry, const std::filesystem::path& path);

/// Turns a model in the files of another toolkit into a model folder, with every weight as F32. Its config.json names
/// the plugins that the model and its tokenizers are of. What the model makes of some sentences is kept beside it
/// (formats::ModelReference), for pipeline::verify_model(). The folder appears all at once, when it is complete. Throws
/// what the importer throws; Error{kBadInput} for values that are not finite; Error{kInvalidArgument} if nobody
/// recognises the path, or if the folder would take its place.
void import_model(const std::filesystem::path& path, const std::filesystem::path& output, Host& host,
                  const ImportOptions& options = {});

}  // namespace dragoman::plugins
