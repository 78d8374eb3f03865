#pragma once

#include <string>

#include <boost/program_options.hpp>

#include <dragoman/core/file.h>

namespace dragoman::cli {

/// --resume and --overwrite of commands that write one line per input line: how the output of an interrupted run is
/// treated.
class ResumeOptions {
 public:
  void add_to(boost::program_options::options_description& options);
  /// UsageError if both are given, or if the output is a stream.
  void check(bool is_stream) const;
  core::PartialPolicy policy() const noexcept;
  /// check() for commands that have the two options as options of a pipeline stage.
  static void require_one(bool resume, bool overwrite);

  bool resumes() const noexcept { return resume_; }
  bool overwrites() const noexcept { return overwrite_; }

 private:
  bool resume_ = false;
  bool overwrite_ = false;
};

/// --on-error keep|fail.
class OnErrorOption {
 public:
  /// `line` names what may fail, such as "a line that cannot be translated".
  void add_to(boost::program_options::options_description& options, const std::string& line);
  /// UsageError for an unknown policy.
  void check() const;
  /// Returns whether such a line ends the run.
  bool fails() const noexcept { return policy_ == "fail"; }

 private:
  std::string policy_;
};

}  // namespace dragoman::cli
