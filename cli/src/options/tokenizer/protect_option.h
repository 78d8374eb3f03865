#pragma once

#include <string>
#include <vector>

#include <boost/program_options.hpp>

namespace dragoman::cli {

/// --protect and --protect-file.
class ProtectOption {
 public:
  void add_to(boost::program_options::options_description& options);
  /// Returns the patterns of the command line, then the lines of the file without a CR before LF and without empty
  /// lines. Throws Error{kIo}, and Error{kBadInput} naming file and line for an invalid pattern.
  std::vector<std::string> patterns() const;

 private:
  std::vector<std::string> patterns_;
  std::string file_;
};

}  // namespace dragoman::cli
