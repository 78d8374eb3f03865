#pragma once

#include <boost/program_options.hpp>

namespace dragoman::cli {

class Command;

/// Checks the files and folders that options name, which the kinds of their values tell. Throws UsageError for
///
/// - empty names, which result from unset variables, and
/// - outputs of the command (Command::written) that would replace what another option names.
///
/// Patterns are not expanded. A command that expands them checks the files that it finds.
void check_named_files(const Command& command, const boost::program_options::variables_map& values,
                       const boost::program_options::options_description& options);

}  // namespace dragoman::cli
