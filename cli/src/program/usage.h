#pragma once

#include "program/command.h"

#include <string>

namespace dragoman::cli {

/// Returns a short command line for `--help` and docs/reference/commands.md: `learn-bpe --output FILE [OPTIONS]
/// [input]`. Options before `[OPTIONS]` and names without brackets are required.
std::string usage_of(const Command& command, const boost::program_options::options_description& options);

/// Guesses which option an unknown one was intended to be, as the end of a message; "" without a guess. Options of the
/// command and keys of its `--set` take precedence over options of other commands and over other commands.
std::string guess_option(const std::string& given, const Command& command,
                         const boost::program_options::options_description& options);

/// Guesses which command an unknown one was intended to be.
std::string guess_command(const std::string& given);

}  // namespace dragoman::cli
