#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <boost/program_options.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/log.h>

namespace dragoman::cli {

/// What the program hands to a command: where messages and progress go, and whether Ctrl-C was pressed.
struct Session {
  core::LogSink log;
  core::ProgressSink progress;
  std::stop_token stop;
  /// To be called before work that is saved on a stop, however long that takes, such as a checkpoint. Without it the
  /// program has ended two seconds after the first signal.
  std::function<void()> saves_work_from_now;
};

/// One sub-command: an option table and the wiring from options to library calls, nothing else.
class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;
  /// One line for the list of commands.
  virtual std::string_view summary() const = 0;
  /// Command lines that people can copy, one a line.
  virtual std::string_view examples() const { return {}; }
  /// Adds the options, each bound to a member: what `--help` and docs/reference/commands.md show.
  virtual void add_options(boost::program_options::options_description& options) = 0;
  /// Names of the options that positional arguments fill, in order; the last takes all that remain.
  virtual std::vector<std::string> positional() const { return {}; }
  /// Keys, as paths, that its option --set takes, for messages about unknown options.
  virtual std::vector<std::string> keys() const { return {}; }
  /// Whether it prints lines while it works, to standard output or what the option --output names.
  virtual bool prints_lines() const { return false; }
  /// Whether it runs for so long that its messages are a log, each with its time.
  virtual bool logs() const { return false; }
  /// Does the work; throws core::Error on failure and std::logic_error-derived program_options errors on wrong usage.
  virtual void run(const Session& session) = 0;
};

/// Throw this for a combination of options that makes no sense: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Words an error of the library about the command's options. Its message may begin with the name of the reader of
  /// options, which users of the command do not know; an option's key is then worded as a flag.
  UsageError(const core::Error& error, std::string_view reader);

  /// The key of the option that the message is about; empty if it is about none.
  const std::string& option() const noexcept { return option_; }

 private:
  std::string option_;
};

/// Every command, in the order of `dragoman --help`. Each make_* stands in the command's own file.
std::vector<std::unique_ptr<Command>> make_commands();

std::unique_ptr<Command> make_learn_bpe();
std::unique_ptr<Command> make_learn_unigram();
std::unique_ptr<Command> make_count_words();
std::unique_ptr<Command> make_prepare();
std::unique_ptr<Command> make_encode();
std::unique_ptr<Command> make_decode();
std::unique_ptr<Command> make_convert();
std::unique_ptr<Command> make_verify();
std::unique_ptr<Command> make_vocab();
std::unique_ptr<Command> make_evaluate();
std::unique_ptr<Command> make_train();
std::unique_ptr<Command> make_report();
std::unique_ptr<Command> make_translate();
std::unique_ptr<Command> make_score();
std::unique_ptr<Command> make_rerank();
std::unique_ptr<Command> make_embed();
std::unique_ptr<Command> make_align();
std::unique_ptr<Command> make_shortlist();
std::unique_ptr<Command> make_average();
std::unique_ptr<Command> make_run();
std::unique_ptr<Command> make_inspect();
std::unique_ptr<Command> make_plugins();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_quantize();
std::unique_ptr<Command> make_tune();
std::unique_ptr<Command> make_reference();

}  // namespace dragoman::cli
