#pragma once

#include <string>
#include <string_view>

#include <boost/program_options.hpp>

#include <dragoman/core/error.h>

namespace dragoman::cli {

/// Replaces keys in a message of the library by flags. The library names options by their keys, in backquotes. If the
/// command has an option of that name, `beam_size` becomes --beam-size.
std::string word_for_command_line(std::string_view message, const boost::program_options::options_description& options);

/// Words a message about the option `key`, which may be at its beginning. An empty key means none.
std::string word_for_command_line(std::string_view message, std::string_view key,
                                  const boost::program_options::options_description& options);

/// Words the message of an error in the same way. A core::OptionError whose message begins with its key ("beam_size:
/// ...", "n_best is 8; ...") is about an option of the command; its message begins with the flag. A message about a
/// file begins with the file and keeps the key.
std::string word_for_command_line(const core::Error& error, const boost::program_options::options_description& options);

}  // namespace dragoman::cli
