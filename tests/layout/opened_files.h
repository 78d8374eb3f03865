#pragma once

#include <istream>
#include <string>
#include <vector>

namespace dragoman::testing {

/// A call that opens, writes, copies or renames a file, or an object that does.
struct Opening {
  std::string path;  ///< of the source, relative to the source tree
  std::string line;  ///< of code
};

/// The openings in a source, one for each call, comments left out.
std::vector<Opening> openings_in(const std::string& path, std::istream& source);

/// One opening outside core/src/files.
struct AllowedOpening {
  std::string path;
  std::string part;  ///< of its line
  std::string reason;
};

/// What is wrong: openings beyond the allowed ones, and allowed ones that are no longer there. Each entry of `allowed`
/// stands for one opening.
std::vector<std::string> compare_openings(const std::vector<Opening>& found,
                                          const std::vector<AllowedOpening>& allowed);

}  // namespace dragoman::testing
