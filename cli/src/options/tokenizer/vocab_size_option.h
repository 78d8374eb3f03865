#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

namespace dragoman::cli {

/// --vocab-size with one or several sizes.
class VocabSizeOption {
 public:
  void add_to(boost::program_options::options_description& options);
  /// Returns the distinct sizes in ascending order. Words after the sizes on the command line that belong to no other
  /// option are inputs, and are moved to `inputs`. UsageError for an invalid size, and for several sizes without {size}
  /// in the name of the output.
  std::vector<std::int32_t> sizes(std::vector<std::string>& inputs, const std::string& output) const;

 private:
  std::vector<std::string> values_;
};

/// Returns `pattern` with {size} replaced by the size.
std::string path_for_size(const std::string& pattern, std::int32_t size);

}  // namespace dragoman::cli
