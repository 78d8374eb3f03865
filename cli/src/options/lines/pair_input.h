#pragma once

#include "options/lines/line_pairs.h"

#include <filesystem>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include <dragoman/core/json.h>

namespace dragoman::cli {

/// Sentence pairs as a command's input: SOURCE and TARGET, two files of lines, or one of columns or JSON objects.
class PairInput {
 public:
  /// Adds source, target, --input-format and what goes with it. The two are the command's first positional options.
  void add_to(boost::program_options::options_description& options);

  /// UsageError where the options do not fit together.
  void check() const;
  LinePairReader open(const std::stop_token& stop) const;
  std::vector<std::filesystem::path> files() const;
  /// How a line holds a pair: a part of what a job's lines depend on.
  core::Json identity() const;

 private:
  std::string source_;
  std::string target_;
  std::string format_;
  PairFields fields_;
};

}  // namespace dragoman::cli
