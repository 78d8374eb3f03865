#pragma once

#include "options/lines/resume_options.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/input_notes.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman::cli {

struct Session;

/// The output of a command that writes one line per input line and can be resumed after an interruption.
class LineJob {
 public:
  void add_to(boost::program_options::options_description& options);

  bool resumes() const noexcept { return resuming_.resumes(); }
  bool overwrites() const noexcept { return resuming_.overwrites(); }

  /// Opens the output. `identity` contains everything that determines a line, except for the input: the command and its
  /// options. The content of the files of `models` is added. UsageError for options that exclude each other.
  void open(const std::string& command, core::Json identity, const std::vector<std::string>& models,
            const std::string& output, const std::stop_token& stop);
  /// Skips the input lines whose output exists already.
  template <class Reader>
  void skip_lines_kept(Reader& reader) {
    pipeline::skip_lines_kept(reader, *out_);
    written_ = out_->lines_kept();
  }

  /// Writes a line without its LF.
  void write(std::string_view line);
  /// Processes the input batch by batch. `compute` reads a batch and computes its results; it returns false at the end
  /// of the input. `write` writes them. A batch during which a stop was requested is not written: Error{kInterrupted}
  /// naming the partial file. Without open(), for outputs that are written at the end, the error reports that nothing
  /// was written.
  template <class Reader>
  void run(const Session& session, const std::string& stage, const Reader& reader, std::predicate auto&& compute,
           std::invocable auto&& write) {
    for (bool more = true; more;) {
      more = compute_batch(session, compute);
      if (was_stopped(session)) interrupt(reader.lines_read());
      write();
      note(session, stage, reader.lines_read(), reader.hash());
    }
    if (out_) out_->commit();
  }
  /// Records the policy that was applied to a long line. A resumed run must apply the same policy.
  void note_long_line(const std::string& policy);
  std::uint64_t written() const noexcept { return written_; }

 private:
  /// Returns false at the end of the input, or if a stop request ended the computation.
  static bool compute_batch(const Session& session, const std::function<bool()>& compute);
  static bool was_stopped(const Session& session);
  /// Flushes the written lines, records that they belong to the first `lines` lines of the input, and reports that.
  void note(const Session& session, const std::string& stage, std::uint64_t lines, std::uint64_t hash);
  [[noreturn]] void interrupt(std::uint64_t lines) const;

  ResumeOptions resuming_;
  bool long_lines_noted_ = true;
  std::string long_lines_;  ///< the policy applied to lines before an interruption, or in this run
  std::optional<core::OutputFile> out_;
  std::uint64_t written_ = 0;
};

/// --long-lines fail|cut|skip.
class LongLinesOption {
 public:
  void add_to(boost::program_options::options_description& options, const std::string& help);
  /// UsageError for an unknown policy.
  pipeline::LongLines read() const;
  const std::string& policy() const noexcept { return policy_; }

  void count_cut() { ++cut_; }
  void count_skipped() { ++skipped_; }
  /// Returns "3 pairs of more tokens than the model takes were skipped" for `line` "pair", or an empty text.
  std::string describe(std::string_view line) const;

 private:
  std::string policy_;
  std::uint64_t cut_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace dragoman::cli
