#pragma once

#include <string>
#include <vector>

#include <boost/program_options.hpp>

namespace dragoman::cli {

/// --protect and --protect-file.
class ProtectOption {
 public:
  void add_to(boost::program_options::options_description& options);
  /// Those of the command line, then the lines of the file; a CR before LF is not part of a line, and empty lines are
  /// passed over. Throws Error{kIo}, and Error{kBadInput} that names file and line for what is no pattern.
  std::vector<std::string> patterns() const;

 private:
  std::vector<std::string> patterns_;
  std::string file_;
};

}  // namespace dragoman::cli
