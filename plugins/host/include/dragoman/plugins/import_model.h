#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/core/log.h>
#include <dragoman/plugins/host.h>

namespace dragoman::plugins {

struct ImportOptions {
  /// The name of a registered importer; empty: the importer that recognises the path.
  std::string importer{};
  core::Json options = core::Json::object();  ///< passed to the importer, which validates them
  /// If true, plugins that the foreign files name may be loaded from the host's plugin folder. If false, they must be
  /// loaded already.
  bool may_load_plugin = true;
  /// After a stop request, throws Error{kInterrupted} soon and writes no folder.
  std::stop_token stop{};
  /// Receives warnings about requests in the files that cannot be honoured.
  core::LogSink log{};
};

/// Returns the importer that recognises the file or folder at `path`. Returns nullptr if none does, or if the path is
/// something else, such as a pipe. Error{kInvalidArgument}, which names them, if several importers recognise it.
const ModelImporterEntry* find_importer(const Registry& registry, const std::filesystem::path& path);

/// Throws the reason why a path that no importer recognises cannot be opened as a model, if the reason is known.
void explain_unrecognised(const Registry& registry, const std::filesystem::path& path);

/// Converts a model of another toolkit to a model folder, with every weight as F32. Its config.json names the plugins
/// of the model and its tokenizers. For pipeline::verify_model(), it also stores the model's outputs for some sentences
/// (formats::ModelReference). The folder appears when it is complete.
///
///     import_model("opus-mt-de-en", "models/de-en", default_host());     // host.h
///
/// Throws the errors of the importer. Error{kBadInput} for values that are not finite. Error{kInvalidArgument} if no
/// importer recognises the path, or if the folder would replace it.
void import_model(const std::filesystem::path& path, const std::filesystem::path& output, Host& host,
                  const ImportOptions& options = {});

}  // namespace dragoman::plugins
