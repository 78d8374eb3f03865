#pragma once

#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dragoman/core/json.h>

namespace dragoman::pipeline {

/// What the output of a pipeline is of: all that decides about its lines, the input apart. Two runs with the same
/// identity give the same line for the same line.
class JobIdentity {
 public:
  /// `wanted`: whether text() will be asked for. Then large files are read while stages are made, by threads of their
  /// own.
  explicit JobIdentity(bool wanted) : wanted_(wanted) {}

  /// A stage with the options of its configuration (with underscores). Idle ones, which do not affect a line, such as
  /// numbers of threads, are left out; of a model or a tokenizer, whose path is a content option, the files' content
  /// counts.
  void add_stage(const std::string& name, const core::Json& options, const std::vector<std::string>& content_options,
                 const std::vector<std::string>& idle_options);
  /// What an option of the stage that was added last comes to, whatever it says; null: what is usual.
  void resolve(const std::string& option, const core::Json& value);
  /// One line of JSON: flat, so that a comparison can name the keys that differ. Has read the files of models and
  /// tokenizers.
  std::string text();

 private:
  /// The sum of a file, or why there is none: computed by a thread or, if there is none to have, when it is asked for.
  class Sum {
   public:
    explicit Sum(const std::filesystem::path& file);
    std::string get();

   private:
    std::shared_ptr<std::packaged_task<std::string()>> task_;
    std::future<std::string> result_;
    std::optional<std::jthread> thread_;
  };

  void add_content(const std::string& key, const std::filesystem::path& path);

  bool wanted_;
  core::Json identity_ = core::Json::object();
  std::string last_;
  std::vector<std::pair<std::string, Sum>> sums_;
};

}  // namespace dragoman::pipeline
