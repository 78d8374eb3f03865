#include "options/lines/line_job.h"

#include "program/command.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>
#include <dragoman/pipeline/job_identity.h>

namespace dragoman::cli {

namespace po = boost::program_options;
using core::ErrorCode;

namespace {

constexpr const char* kLongLines = "long_lines";

/// Returns the policy for long lines that the notes of the previous run record.
std::string long_lines_of(const std::vector<std::string>& notes) {
  std::string policy;
  for (const std::string& note : notes) {
    const core::Json json = core::try_parse_json(note).tree;
    if (json.is_object() && json.value(kLongLines, core::Json()).is_string()) policy = json[kLongLines];
  }
  return policy;
}

}  // namespace

void LineJob::add_to(po::options_description& options) {
  resuming_.add_to(options);
}

void LineJob::open(const std::string& command, core::Json identity, const std::vector<std::string>& models,
                   const std::string& output, const std::stop_token& stop) {
  const bool is_stream = output == "-";
  resuming_.check(is_stream);
  pipeline::JobIdentity job(!is_stream);
  identity["model"] = models;
  job.add_stage(command, identity, {"model"}, {});
  const core::OutputOptions options{.partial = resuming_.policy(),
                                    .identity = is_stream ? std::string() : job.text(),
                                    .vouched = pipeline::vouched_lines,
                                    .stop = stop};
  out_.emplace(output, options);
  if (out_->lines_kept() > 0) long_lines_ = long_lines_of(out_->notes());
}

void LineJob::write(std::string_view line) {
  out_->write(std::string(line) + "\n");
  ++written_;
}

bool LineJob::compute_batch(const Session& session, const std::function<bool()>& compute) {
  try {
    return compute();
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kInterrupted || !was_stopped(session)) throw;
    return false;
  }
}

bool LineJob::was_stopped(const Session& session) {
  return session.stop.stop_requested();
}

void LineJob::note(const Session& session, const std::string& stage, std::uint64_t lines, std::uint64_t hash) {
  if (out_) {
    out_->flush();
    // Notes are kept from the first line in the file on.
    if (!std::exchange(long_lines_noted_, true)) out_->note(core::Json{{kLongLines, long_lines_}}.dump());
    out_->note(pipeline::to_note({.lines = lines, .hash = hash}));
  }
  core::report(session.progress, {.stage = stage, .done = lines, .total = 0, .unit = "lines", .figures = {}});
}

void LineJob::note_long_line(const std::string& policy) {
  if (long_lines_ == policy) return;
  core::require_option(long_lines_.empty(), "overwrite", ErrorCode::kInvalidArgument,
                       "{}: `long_lines` was {} when its lines were written, and is {}; resume with {}, or begin anew "
                       "with `overwrite`",
                       out_->partial_name(), long_lines_, policy, long_lines_);
  long_lines_ = policy;
  long_lines_noted_ = false;
}

void LineJob::interrupt(std::uint64_t lines) const {
  core::require(out_.has_value(), ErrorCode::kInterrupted, "interrupted after {} lines, of which nothing was written",
                lines);
  const bool is_partial = out_->partial_name() != out_->name();
  core::require(is_partial, ErrorCode::kInterrupted, "interrupted after {} lines", written_);
  core::require(written_ > 0, ErrorCode::kInterrupted,
                "interrupted before the first line was done; nothing was written");
  core::fail_option("resume", ErrorCode::kInterrupted,
                    "interrupted after {} lines, which are in {}; run again with `resume` to continue", written_,
                    out_->partial_name());
}

void LongLinesOption::add_to(po::options_description& options, const std::string& help) {
  options.add_options()("long-lines", po::value(&policy_)->default_value("fail")->value_name("POLICY"), help.c_str());
}

pipeline::LongLines LongLinesOption::read() const {
  std::vector<std::string_view> names;
  for (const auto& [name, policy] : pipeline::kLongLines) {
    if (name == policy_) return policy;
    names.push_back(name);
  }
  throw UsageError(fmt::format("--long-lines must be one of {}", fmt::join(names, ", ")));
}

std::string LongLinesOption::describe(std::string_view line) const {
  const std::uint64_t count = cut_ + skipped_;  // a run has one policy
  if (count == 0) return {};
  return fmt::format("{} {}{} of more tokens than the model takes {} {}", count, line, count == 1 ? "" : "s",
                     count == 1 ? "was" : "were", cut_ > 0 ? "cut" : "skipped");
}

}  // namespace dragoman::cli
