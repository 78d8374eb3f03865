#include "program/program.h"

#include "program/command.h"
#include "program/common_options.h"
#include "program/standard_streams.h"
#include "program/terminal.h"
#include "version.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <sstream>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/nearest_name.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

/// kClosedPipe is what a shell reports of a program that SIGPIPE ended, which is what others do there.
enum ExitStatus { kDone = 0, kFailed = 1, kUsage = 2, kInterrupted = 130, kClosedPipe = 141 };

/// Turns the first SIGINT, SIGTERM or SIGHUP into a stop request, so that work is saved; the second one ends the
/// program at once. What the caller ignores (nohup, jobs in the background of a script) stays ignored.
///
/// The signals are blocked in every thread and fetched by one that waits for them: a handler would run on the stack of
/// whichever thread it interrupts, and oneDNN's GEMM (before 3.11.2, its issue 4845) lets the stack pointer point at
/// heap memory meanwhile, which the handler's frame would overwrite. Must be made before any other thread, since
/// threads inherit the mask; it stays blocked to the program's end.
class InterruptWatch {
 public:
  InterruptWatch() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action {};
      // A signal that is both ignored and blocked would still be fetched.
      if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals_, signal);
    }
    sigaddset(&signals_, kWake);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    watcher_ = std::jthread([this](const std::stop_token& done) { watch(done); });
  }
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch() {
    watcher_.request_stop();
    pthread_kill(watcher_.native_handle(), kWake);  // blocked, so it does nothing else
  }
  std::stop_token token() const { return stop_.get_token(); }

 private:
  static constexpr int kWake = SIGUSR2;

  void watch(const std::stop_token& done) {
    for (;;) {
      const int signal = sigwaitinfo(&signals_, nullptr);
      if (done.stop_requested()) return;
      if (signal > 0 && signal != kWake && !stop_.request_stop()) _exit(128 + signal);
    }
  }

  sigset_t signals_{};
  std::stop_source stop_;
  std::jthread watcher_;  // last: joined while the others live
};

void print_overview(const std::vector<std::unique_ptr<Command>>& commands) {
  fmt::print("dragoman {}: neural machine translation\n\nUsage: dragoman COMMAND [OPTIONS]\n\nCommands:\n", kVersion);
  for (const auto& command : commands) fmt::print("  {:<13} {}\n", command->name(), command->summary());
  fmt::print("\n`dragoman help COMMAND` explains a command; `dragoman --version` prints the version.\n");
}

std::string indented(std::string_view lines) {
  std::string text;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    text += fmt::format("  {}\n", lines.substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

void print_help(const Command& command, const po::options_description& options) {
  std::string arguments;
  for (const std::string& name : command.positional()) arguments += fmt::format(" [{}]", name);
  std::ostringstream table;
  table << options;
  // Where every option stands in a group, nothing follows the title of the others.
  std::string listed = table.str();
  if (listed.starts_with("Options:\n\n")) listed.erase(0, std::string_view("Options:\n\n").size());
  fmt::print("Usage: dragoman {} [OPTIONS]{}\n\n{}\n\n", command.name(), arguments, command.summary());
  if (!command.examples().empty()) fmt::print("Examples:\n{}\n", indented(command.examples()));
  fmt::print("{}", listed);
}

/// What the library says of an unknown option, and which one may have been meant.
[[noreturn]] void complain_of_unknown(const po::unknown_option& error, const Command& command,
                                      const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  const std::string given = error.get_option_name();
  const std::string nearest = core::nearest_name(given, names);
  throw UsageError(fmt::format("unrecognised option '{}'{}; see `dragoman {} --help`", given,
                               nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest), command.name()));
}

/// The values that were given, or are usual.
po::variables_map parse(const Command& command, const std::vector<std::string>& arguments,
                        const po::options_description& options) {
  po::positional_options_description positions;
  const std::vector<std::string> names = command.positional();
  for (const std::string& name : names) {
    const auto value = options.find(name, false).semantic();
    const bool takes_all = &name == &names.back() && (value->max_tokens() > 1 || value->is_composing());
    positions.add(name.c_str(), takes_all ? -1 : 1);
  }
  constexpr auto kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(options).positional(positions).style(kStyle).run(), values);
  } catch (const po::unknown_option& error) {
    complain_of_unknown(error, command, options);
  }
  if (!values["help"].as<bool>()) po::notify(values);
  return values;
}

/// Whether results go to a terminal, where a bar would stand between them.
bool prints_to_terminal(const po::variables_map& values) {
  const auto output = values.find("output");
  const bool to_file = output != values.end() && output->second.value().type() == typeid(std::string) &&
                       output->second.as<std::string>() != "-";
  return !to_file && isatty(STDOUT_FILENO) != 0;
}

bool wants_help(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments)
    if (argument == "--help" || argument == "-h") return true;
  return false;
}

int run_command(Command& command, const std::vector<std::string>& arguments) {
  CommonOptions common;
  po::options_description options = option_group("Options");
  command.add_options(options);
  common.add_to(options);
  if (wants_help(arguments)) {
    print_help(command, options);
    return kDone;
  }
  const po::variables_map values = parse(command, arguments, options);
  const InterruptWatch interrupt;
  core::set_default_stop(interrupt.token());
  ProgressStyle style = common.quiet ? ProgressStyle::kNone : progress_style(common.progress);
  if (style == ProgressStyle::kBar && command.prints_lines() && prints_to_terminal(values))
    style = ProgressStyle::kNone;
  Terminal terminal(style);
  const Session session{.log =
                            [&](core::LogLevel level, std::string_view message) {
                              if (!common.quiet || level == core::LogLevel::kWarning) terminal.message(level, message);
                            },
                        .progress = [&](const core::Progress& progress) { terminal.show(progress); },
                        .stop = interrupt.token()};
  try {
    command.run(session);
    terminal.finish();
  } catch (...) {
    terminal.finish();
    throw;
  }
  return kDone;
}

int dispatch(const std::vector<std::string>& arguments) {
  const auto commands = make_commands();
  // `help COMMAND` is `COMMAND --help`.
  if (arguments.size() == 2 && arguments[0] == "help") return dispatch({arguments[1], "--help"});
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_overview(commands);
    return arguments.empty() ? kUsage : kDone;
  }
  if (arguments[0] == "--version") {
    fmt::print("dragoman {}\n", kVersion);
    return kDone;
  }
  std::vector<std::string> names;
  for (const auto& command : commands) {
    if (command->name() == arguments[0]) return run_command(*command, {arguments.begin() + 1, arguments.end()});
    names.emplace_back(command->name());
  }
  const std::string nearest = core::nearest_name(arguments[0], names);
  throw UsageError(fmt::format("unknown command '{}'{}; `dragoman --help` lists them", arguments[0],
                               nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest)));
}

int complain(ExitStatus status, std::string_view message) {
  write_to_standard_error(fmt::format("dragoman: {}\n", core::printable(message, core::Error::kLongestMessage)));
  return status;
}

int complain(const core::Error& error) {
  switch (error.code()) {
    case core::ErrorCode::kClosedPipe:
      return kClosedPipe;  // whoever closed it wants no more of us
    case core::ErrorCode::kInterrupted:
      return complain(kInterrupted, error.what());
    default:
      return complain(kFailed, error.what());
  }
}

int complain(const std::system_error& error) {
  if (error.code() == std::errc::resource_unavailable_try_again)
    return complain(
        kFailed,
        "cannot start a thread: the system allows no more; use fewer --threads, or raise the limit (ulimit -u)");
  return complain(kFailed, error.what());
}

/// What printing throws says less than the stream knows.
int complain_of_printing(const std::system_error& error) {
  try {
    finish_standard_output();
  } catch (const core::Error& better) {
    return complain(better);
  }
  return complain(error);
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  hold_standard_streams();
  // A closed pipe and a file that may not grow are write errors, so that outputs are left in order.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = dispatch(arguments);
    finish_standard_output();
    return status;
  } catch (const core::Error& error) {
    return complain(error);
  } catch (const po::error& error) {
    return complain(kUsage,
                    fmt::format("{}; see `dragoman {} --help`", error.what(), arguments.empty() ? "" : arguments[0]));
  } catch (const UsageError& error) {
    return complain(kUsage, error.what());
  } catch (const std::bad_alloc&) {
    return complain(kFailed, "out of memory; use smaller batches, fewer threads or a smaller model");
  } catch (const std::system_error& error) {
    return complain_of_printing(error);
  } catch (const std::exception& error) {
    return complain(kFailed, error.what());
  }
}

}  // namespace dragoman::cli
