#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/plugins/host.h>

namespace dragoman::plugins {

/// The result of one check of one subject on one device.
struct Verdict {
  std::string subject;  ///< name of the model, the op, ...
  std::string device;
  std::string check;  ///< one of conformance_checks() or of the checks of other entries
  bool passed = false;
  /// One line with the values that were compared, their difference and its place. For a failed check, also the likely
  /// cause.
  std::string detail;
};

/// A check of models, for lists and documentation.
struct CheckDescription {
  std::string_view name;
  std::string_view promise;  ///< the property of a model that passes
};

/// Returns all checks of models in the order in which they run.
std::vector<CheckDescription> conformance_checks();

/// Options of check_model() and check_provider().
struct ConformanceOptions {
  /// The folder in which models are saved and loaded again. Files written there are removed.
  std::filesystem::path scratch_folder;
  core::ProgressSink progress = {};
  /// Stops before the next check, with Error{kInterrupted}.
  std::stop_token stop = {};
};

/// Runs every check on a model, built from its example configuration with random parameters, on every device of the
/// host. Gradients are compared with finite differences on the reference backend. An exception from the model is a
/// failed check and is not rethrown. Takes a few seconds per model.
std::vector<Verdict> check_model(const Host& host, const ModelEntry& model, const ConformanceOptions& options);

/// Checks everything that a provider (kBuiltin, or the name of a loaded plugin) has registered:
///
/// - Models pass check_model().
/// - Each op has kernels on the CPU and on the reference backend.
/// - Search strategies and logits processors give valid results that do not depend on the batch.
/// - Tokenizers restore texts, accept any text and reject damaged files.
/// - Pipeline stages preserve order and UTF-8, and keep no state between records.
/// - Model importers recognise their files and reject damaged ones.
///
///     Host host({.plugins = {"./mine.so"}});                             // host.h
///     for (const Verdict& verdict : check_provider(host, "mine", {.scratch_folder = "/tmp/check"}))
///       if (!verdict.passed) std::cout << verdict.subject << ": " << verdict.check << ": " << verdict.detail << '\n';
///
/// One thread at a time per scratch folder. Failed checks are results, not errors.
std::vector<Verdict> check_provider(Host& host, const std::string& provider, const ConformanceOptions& options);

}  // namespace dragoman::plugins
