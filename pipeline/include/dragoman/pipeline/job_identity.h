#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dragoman/core/json_fwd.h>

namespace dragoman::pipeline {

/// Everything except the input that determines the output lines of a pipeline. Two runs with the same identity produce
/// the same line for the same line. One thread at a time.
class JobIdentity {
 public:
  /// `wanted`: whether text() will be called. If so, separate threads read large files while stages are created.
  explicit JobIdentity(bool wanted);
  ~JobIdentity();
  JobIdentity(JobIdentity&&) noexcept;
  JobIdentity& operator=(JobIdentity&&) noexcept;

  /// Adds a stage with the options of its configuration (with underscores). `non_semantic_options`, such as numbers of
  /// threads, do not affect a line and are left out. `input_file_options` are paths of models or tokenizers, which are
  /// identified by their content.
  void add_stage(const std::string& name, const core::Json& options, const std::vector<std::string>& input_file_options,
                 const std::vector<std::string>& non_semantic_options);
  /// Sets the value of an option of the last stage, whatever its configuration contains. null: the default.
  void resolve(const std::string& option, const core::Json& value);
  /// Returns one line of JSON. It is flat, so that a comparison can name the keys that differ. Reads the files of
  /// models and tokenizers.
  std::string text();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline
