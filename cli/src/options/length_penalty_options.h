#pragma once

#include <optional>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/decoding/length_penalty.h>

namespace dragoman::cli {

/// How a score follows from a log probability, for commands that do not search.
class LengthPenaltyOptions {
 public:
  /// `usual`: what stands in the help for nothing said.
  void add_to(boost::program_options::options_description& options, const std::string& usual);

  /// Whether anything was said.
  bool given() const noexcept { return !preset_.empty() || alpha_.has_value(); }
  /// Returns the given options as text, which is one of the things that a job's lines depend on.
  std::string identity() const;
  /// Of alpha alone: fairseq's.
  decoding::LengthPenalty chosen() const;

 private:
  std::string preset_;
  std::optional<double> alpha_;
};

}  // namespace dragoman::cli
