#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/plugins/host.h>

namespace dragoman::plugins {

/// What one check found on one model and one device.
struct Verdict {
  std::string subject;  ///< name of the model, the op, ...
  std::string device;
  std::string check;  ///< one of the names below
  bool passed = false;
  /// One line with the numbers: what was compared, how far apart it was, where. Of a failed check also what the likely
  /// fault is.
  std::string detail;
};

/// A check of models, for lists and documentation.
struct CheckDescription {
  std::string_view name;
  std::string_view promise;  ///< what holds for a model that passes
};

/// All checks of models, in the order in which they run.
std::vector<CheckDescription> conformance_checks();

struct ConformanceOptions {
  /// Where models are saved and loaded again; what is written there is removed.
  std::filesystem::path scratch_folder;
  core::ProgressSink progress = {};
  /// Ends the checks before the next one, with Error{kInterrupted}.
  std::stop_token stop = {};
};

/// Runs every check on a model, made of its example configuration with random parameters, on every device of the host;
/// gradients are differentiated on the reference backend. An exception out of the model is a failed check, not an
/// exception of this function. A few seconds a model.
std::vector<Verdict> check_model(const Host& host, const ModelEntry& model, const ConformanceOptions& options);

/// Everything that the provider (kBuiltin, or the name of a loaded plugin) has registered: check_model for each model;
/// that each op has kernels on the CPU and on the reference backend; that search strategies and logits processors give
/// valid results that do not depend on the batch; that tokenizers give texts back, take any text and refuse damaged
/// files; that pipeline stages keep order, UTF-8 and nothing between records; that importers of models know their own,
/// and refuse what is damaged.
std::vector<Verdict> check_provider(Host& host, const std::string& provider, const ConformanceOptions& options);

}  // namespace dragoman::plugins
