#include "options/lines/resume_options.h"

#include "program/command.h"

namespace dragoman::cli {

namespace po = boost::program_options;

void ResumeOptions::add_to(po::options_description& options) {
  options.add_options()("resume", po::bool_switch(&resume_),
                        "continue the output of an interrupted run (OUTPUT.partial) of the same job")(
      "overwrite", po::bool_switch(&overwrite_), "discard the output of an interrupted run");
}

void ResumeOptions::check(bool is_stream) const {
  require_one(resume_, overwrite_);
  if (is_stream && resume_) throw UsageError("--resume needs --output FILE: what went to standard output is gone");
  if (is_stream && overwrite_) throw UsageError("--overwrite needs --output FILE: standard output has no partial one");
}

core::PartialPolicy ResumeOptions::policy() const noexcept {
  if (resume_) return core::PartialPolicy::kResume;
  return overwrite_ ? core::PartialPolicy::kReplace : core::PartialPolicy::kRefuse;
}

void ResumeOptions::require_one(bool resume, bool overwrite) {
  if (resume && overwrite) throw UsageError("--resume continues the file that --overwrite discards; give one of them");
}

void OnErrorOption::add_to(po::options_description& options, const std::string& line) {
  options.add_options()("on-error", po::value(&policy_)->default_value("keep")->value_name("POLICY"),
                        (line + ": keep (an empty line, counted) or fail").c_str());
}

void OnErrorOption::check() const {
  if (policy_ != "keep" && policy_ != "fail") throw UsageError("--on-error must be keep or fail");
}

}  // namespace dragoman::cli
