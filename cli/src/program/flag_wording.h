#pragma once

#include <string>
#include <string_view>

#include <boost/program_options.hpp>

#include <dragoman/core/error.h>

namespace dragoman::cli {

/// A message of the library in the words of a command line. The library names options by their keys, in backquotes;
/// where the command has an option of that name, `beam_size` becomes --beam-size.
std::string word_for_command_line(std::string_view message, const boost::program_options::options_description& options);

/// Words a message about the option `key`, with which the message may begin. An empty key means that there is none.
std::string word_for_command_line(std::string_view message, std::string_view key,
                                  const boost::program_options::options_description& options);

/// The message of an error in the same words. A core::OptionError whose message begins with its key ("beam_size: ...",
/// "n_best is 8; ...") is about an option of the command, and begins with its flag; one about a file begins with the
/// file, and keeps the key.
std::string word_for_command_line(const core::Error& error, const boost::program_options::options_description& options);

}  // namespace dragoman::cli
