#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

namespace dragoman::cli {

/// --vocab-size, one or several.
class VocabSizeOption {
 public:
  void add_to(boost::program_options::options_description& options);
  /// The sizes from the smallest to the largest, none twice. Several need an output with {size} in its name; that they
  /// do not have one, and what is not a size, is a UsageError. What stands behind the sizes on the command line without
  /// an option of its own is an input, and moves to `inputs`.
  std::vector<std::int32_t> sizes(std::vector<std::string>& inputs, const std::string& output) const;

 private:
  std::vector<std::string> values_;
};

/// `pattern` with the size in place of {size}.
std::string path_for_size(const std::string& pattern, std::int32_t size);

}  // namespace dragoman::cli
