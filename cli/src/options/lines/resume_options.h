#pragma once

#include <string>

#include <boost/program_options.hpp>

#include <dragoman/core/file.h>

namespace dragoman::cli {

/// --resume and --overwrite of commands that write a line for each line of their input: what becomes of the output that
/// an interrupted run left.
class ResumeOptions {
 public:
  void add_to(boost::program_options::options_description& options);
  /// UsageError for both at once, and for an output that is a stream.
  void check(bool is_stream) const;
  core::PartialPolicy policy() const noexcept;
  /// The check() of commands that have the two as options of a pipeline's stage.
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
  /// `line` names what may go wrong, such as "a line that cannot be translated".
  void add_to(boost::program_options::options_description& options, const std::string& line);
  /// UsageError for a policy that there is not.
  void check() const;
  /// Whether such a line ends the run.
  bool fails() const noexcept { return policy_ == "fail"; }

 private:
  std::string policy_;
};

}  // namespace dragoman::cli
