#pragma once

#include "options/lines/line_pairs.h"

#include <filesystem>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include <dragoman/core/json.h>

namespace dragoman::cli {

/// Sentence pairs as the input of a command: SOURCE and TARGET, two files of lines, or one with columns or JSON
/// objects.
class PairInput {
 public:
  /// Adds source, target, --input-format and related options. The first two are the command's first positional options.
  void add_to(boost::program_options::options_description& options);

  /// Chooses the piped standard input if the pairs are in one file and none is named. UsageError if the options exclude
  /// each other.
  void check();
  LinePairReader open(const std::stop_token& stop) const;
  std::vector<std::filesystem::path> files() const;
  /// Returns the format of pairs, which belongs to the identity of a job's lines.
  core::Json identity() const;

 private:
  std::string source_;
  std::string target_;
  std::string format_;
  PairFields fields_;
};

}  // namespace dragoman::cli
