#include "program/program.h"

#include "program/command.h"
#include "program/common_options.h"
#include "program/cut_file_watch.h"
#include "program/flag_wording.h"
#include "program/interrupt_watch.h"
#include "program/named_files.h"
#include "program/removed_options.h"
#include "program/standard_streams.h"
#include "program/terminal.h"
#include "program/usage.h"
#include "version.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <sstream>
#include <system_error>

#include <boost/any.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

/// kClosedPipe is the status that a shell reports for a program that SIGPIPE ended, as other programs do.
enum ExitStatus {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kInterrupted = InterruptWatch::kStatus,
  kClosedPipe = 141,
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
  std::ostringstream table;
  table << options;
  // If every option is in a group, the title of the others has no content.
  std::string listed = table.str();
  if (listed.starts_with("Options:\n\n")) listed.erase(0, std::string_view("Options:\n\n").size());
  fmt::print("Usage: dragoman {}\n\n{}\n\n", usage_of(command, options), command.summary());
  if (!command.examples().empty()) fmt::print("Examples:\n{}\n", indented(command.examples()));
  fmt::print("{}", listed);
}

/// Returns the given values and the defaults.
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
    const std::string whole = error.get_option_name();
    const std::string given = whole.substr(0, whole.find('='));
    if (const std::string_view advice = removed_option(command.name(), given); !advice.empty())
      throw UsageError(fmt::format("{} was removed in this release: {}", given, advice));
    throw UsageError(fmt::format("unrecognised option '{}'{}", given, guess_option(given, command, options)));
  } catch (const po::too_many_positional_options_error&) {
    throw UsageError(
        fmt::format("there are more arguments than '{}' takes; an option's name is missing, such as --output",
                    usage_of(command, options)));
  }
  if (values["help"].as<bool>()) return values;
  check_named_files(command, values, options);
  try {
    po::notify(values);
  } catch (const po::required_option& error) {
    // Positional arguments are reported by their names, not as options.
    const std::string whole = error.get_option_name();
    const std::string name = whole.substr(std::min(whole.find_first_not_of('-'), whole.size()));
    if (std::ranges::find(names, name) == names.end()) throw;
    throw UsageError(fmt::format("the argument '{}' is required but missing", name));
  }
  return values;
}

/// Calls parse(), and replaces keys in its errors by flags.
po::variables_map parse_in_words_of(const Command& command, const std::vector<std::string>& arguments,
                                    const po::options_description& options) {
  try {
    return parse(command, arguments, options);
  } catch (const UsageError& error) {
    throw UsageError(word_for_command_line(error.what(), error.option(), options));
  }
}

/// Returns whether results go to a terminal, where a progress bar would be between them.
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
  const po::variables_map values = parse_in_words_of(command, arguments, options);
  InterruptWatch& interrupt = InterruptWatch::start();
  core::set_default_stop(interrupt.token());
  ProgressStyle style = common.quiet ? ProgressStyle::kNone : progress_style(common.progress);
  if (style == ProgressStyle::kBar && command.prints_lines() && prints_to_terminal(values))
    style = ProgressStyle::kNone;
  Terminal terminal(style, command.logs());
  const Session session{.log =
                            [&](core::LogLevel level, std::string_view message) {
                              if (!common.quiet || level == core::LogLevel::kWarning)
                                terminal.message(level, word_for_command_line(message, options));
                            },
                        .progress = [&](const core::Progress& progress) { terminal.show(progress); },
                        .stop = interrupt.token(),
                        .saves_work_from_now = [&] { interrupt.wait_for_work(); },
                        .on_hangup = [&](std::function<void()> action) { interrupt.on_hangup(std::move(action)); }};
  const auto finish = [&] {
    interrupt.work_is_saved();
    terminal.finish();
  };
  try {
    command.run(session);
    finish();
  } catch (const core::Error& error) {
    finish();
    core::fail_again(error, word_for_command_line(error, options));
  } catch (const UsageError& error) {
    finish();
    throw UsageError(word_for_command_line(error.what(), error.option(), options));
  } catch (...) {
    finish();
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
  for (const auto& command : commands)
    if (command->name() == arguments[0]) return run_command(*command, {arguments.begin() + 1, arguments.end()});
  throw UsageError(
      fmt::format("unknown command '{}'{}; `dragoman --help` lists them", arguments[0], guess_command(arguments[0])));
}

int complain(ExitStatus status, std::string_view message) {
  // A thread that ends the program for a signal at this moment has printed another.
  if (claim_last_word())
    write_to_standard_error(fmt::format("dragoman: {}\n", core::printable(message, core::Error::kLongestMessage)));
  return status;
}

/// Reports wrong usage of a command, with a pointer to its help unless the message has one.
int complain_of_usage(std::string_view message, const std::vector<std::string>& arguments) {
  if (message.find("--help`") != std::string_view::npos || arguments.empty()) return complain(kUsage, message);
  return complain(kUsage, fmt::format("{}; see `dragoman {} --help`", message, arguments[0]));
}

int complain(const core::Error& error) {
  switch (error.code()) {
    case core::ErrorCode::kClosedPipe:
      return kClosedPipe;  // the reader needs no more output
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

/// The stream knows the cause of the error, which the exception lacks.
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
  // A closed pipe and a file that must not grow become write errors, so that outputs remain consistent.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  watch_for_cut_files();
  try {
    const int status = dispatch(arguments);
    finish_standard_output();
    return status;
  } catch (const core::Error& error) {
    return complain(error);
  } catch (const po::error& error) {
    return complain_of_usage(error.what(), arguments);
  } catch (const UsageError& error) {
    return complain_of_usage(error.what(), arguments);
  } catch (const std::bad_alloc&) {
    return complain(kFailed,
                    "out of memory; use smaller batches, fewer threads or a smaller model, and split very long lines");
  } catch (const std::system_error& error) {
    return complain_of_printing(error);
  } catch (const std::exception& error) {
    return complain(kFailed, error.what());
  }
}

}  // namespace dragoman::cli
