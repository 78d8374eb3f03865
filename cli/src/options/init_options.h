#pragma once

#include "program/command.h"

#include <string>

#include <boost/program_options.hpp>

namespace dragoman::cli {

/// `train --init` and its options, which write a first configuration for a corpus.
class InitOptions {
 public:
  void add_to(boost::program_options::options_description& options);
  bool wanted() const noexcept { return init_; }
  /// UsageError for a file without its counterpart, and for any other option of the group without --init.
  void check() const;
  /// Measures the corpus, writes the configuration and prints the commands that follow. core::Error for files that
  /// cannot be trained on, and for a configuration that exists, unless --overwrite is given.
  void write(const std::string& configuration, const Session& session) const;

 private:
  bool init_ = false;
  bool overwrite_ = false;
  std::string source_;
  std::string target_;
  std::string validation_source_;
  std::string validation_target_;
};

}  // namespace dragoman::cli
