#pragma once

#include "program/command.h"

#include <string>

namespace dragoman::cli {

/// Returns the command line in short, for `--help` and docs/reference/commands.md: `learn-bpe --output FILE [OPTIONS]
/// [input]`. Options before `[OPTIONS]` and names without brackets are required.
std::string usage_of(const Command& command, const boost::program_options::options_description& options);

/// Guesses which option was meant by one that the command does not have, as the end of a message; "" without a guess.
/// Options of the command and keys for its `--set` come first, then options of other commands and other commands.
std::string guess_option(const std::string& given, const Command& command,
                         const boost::program_options::options_description& options);

/// Guesses which command was meant by one that does not exist.
std::string guess_command(const std::string& given);

}  // namespace dragoman::cli
