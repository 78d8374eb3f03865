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

/// The context of a command: sinks for messages and progress, and whether Ctrl-C was pressed.
struct Session {
  core::LogSink log;
  core::ProgressSink progress;
  std::stop_token stop;
  /// Call it before work that is saved on a stop, however long that takes, such as a checkpoint. Otherwise the program
  /// ends two seconds after the first signal.
  std::function<void()> saves_work_from_now;
  /// Has SIGHUP call an action instead of requesting a stop; an empty function restores that. The action must be quick.
  std::function<void(std::function<void()> action)> on_hangup;
};

/// One sub-command: an option table, and the wiring from options to library calls.
class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;
  /// Returns one line for the list of commands.
  virtual std::string_view summary() const = 0;
  /// Returns command lines that users can copy, one per line.
  virtual std::string_view examples() const { return {}; }
  /// Adds the options, each bound to a member. `--help` and docs/reference/commands.md show them.
  virtual void add_options(boost::program_options::options_description& options) = 0;
  /// Returns the options that positional arguments fill, in order. The last one takes all remaining arguments.
  virtual std::vector<std::string> positional() const { return {}; }
  /// Returns the options whose files or folders are written. All others that name files or folders are read, and the
  /// program refuses an output that would replace one of them. A command that returns nothing does so itself. An option
  /// names files if its kind of value begins with FILE, DIR, FOLDER, PATH or MODEL.
  virtual std::vector<std::string> written() const { return {"output"}; }
  /// Returns the keys, as paths, that the option --set accepts, for messages about unknown options.
  virtual std::vector<std::string> keys() const { return {}; }
  /// Returns whether it prints lines while it works, to standard output or to the file of --output.
  virtual bool prints_lines() const { return false; }
  /// Returns whether it runs for so long that its messages are a log with times.
  virtual bool logs() const { return false; }
  /// Does the work. Throws core::Error on failure, and errors of program_options (std::logic_error) on wrong usage.
  virtual void run(const Session& session) = 0;
};

/// Thrown for an invalid combination of options: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Words an error of the library about the command's options. Its message may begin with the name of the reader of
  /// options, which users of the command do not know. An option's key is replaced by its flag.
  UsageError(const core::Error& error, std::string_view reader);

  /// Returns the key of the option that the message is about; empty if there is none.
  const std::string& option() const noexcept { return option_; }

 private:
  std::string option_;
};

/// Returns all commands, in the order of `dragoman --help`. Each make_* function is in the file of its command.
std::vector<std::unique_ptr<Command>> make_commands();

std::unique_ptr<Command> make_learn_bpe();
std::unique_ptr<Command> make_learn_unigram();
std::unique_ptr<Command> make_count_words();
std::unique_ptr<Command> make_detect();
std::unique_ptr<Command> make_learn_detector();
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
std::unique_ptr<Command> make_serve();
std::unique_ptr<Command> make_inspect();
std::unique_ptr<Command> make_plugins();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_quantize();
std::unique_ptr<Command> make_tune();
std::unique_ptr<Command> make_reference();

}  // namespace dragoman::cli
