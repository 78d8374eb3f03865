#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <dragoman/core/json.h>

namespace dragoman::pipeline {

/// What the output of a pipeline is of: all that decides about its lines, the input apart. Two runs with the same
/// identity give the same line for the same line.
class JobIdentity {
 public:
  /// A stage with the options of its configuration (with underscores). Idle ones, which do not affect a line, such as
  /// numbers of threads, are left out; of a model or a tokenizer, whose path is a content option, the files' content
  /// counts.
  void add_stage(const std::string& name, const core::Json& options, const std::vector<std::string>& content_options,
                 const std::vector<std::string>& idle_options);
  /// What an option of the stage that was added last comes to, whatever it says; null: what is usual.
  void resolve(const std::string& option, const core::Json& value);
  /// One line of JSON: flat, so that a comparison can name the keys that differ. Reads the files of models and
  /// tokenizers.
  std::string text() const;

 private:
  struct File {
    std::string key;
    std::filesystem::path path;
  };

  core::Json identity_ = core::Json::object();
  std::string last_;
  std::vector<File> files_;
};

}  // namespace dragoman::pipeline
