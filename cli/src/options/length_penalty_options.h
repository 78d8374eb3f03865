#pragma once

#include <optional>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/decoding/length_penalty.h>

namespace dragoman::cli {

/// How a score follows from a log probability, for commands that do not search.
class LengthPenaltyOptions {
 public:
  /// `usual`: the default in the help.
  void add_to(boost::program_options::options_description& options, const std::string& usual);

  /// Returns whether any of the options was given.
  bool given() const noexcept { return !preset_.empty() || alpha_.has_value(); }
  /// Returns the given options as text, which belongs to the identity of a job's lines.
  std::string identity() const;
  /// Returns the length penalty. alpha without a preset applies to fairseq's.
  decoding::LengthPenalty chosen() const;

 private:
  std::string preset_;
  std::optional<double> alpha_;
};

}  // namespace dragoman::cli
