#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dragoman/core/json_fwd.h>

namespace dragoman::pipeline {

/// Everything that decides about the output lines of a pipeline, except the input. Two runs with the same identity give
/// the same line for the same line.
class JobIdentity {
 public:
  /// `wanted`: whether text() will be called. Then separate threads read large files while stages are made.
  explicit JobIdentity(bool wanted);
  ~JobIdentity();
  JobIdentity(JobIdentity&&) noexcept;
  JobIdentity& operator=(JobIdentity&&) noexcept;

  /// Adds a stage with the options of its configuration (with underscores). `non_semantic_options`, such as numbers of
  /// threads, do not affect a line and are left out. `input_file_options` are paths of models or tokenizers, whose
  /// content counts.
  void add_stage(const std::string& name, const core::Json& options, const std::vector<std::string>& input_file_options,
                 const std::vector<std::string>& non_semantic_options);
  /// Sets the value of an option of the stage that was added last, whatever its configuration has; null: the default.
  void resolve(const std::string& option, const core::Json& value);
  /// Returns one line of JSON: flat, so that a comparison can name the keys that differ. Reads the files of models and
  /// tokenizers.
  std::string text();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
