#pragma once

#include <string>

#include <boost/program_options.hpp>

#include <dragoman/tokenizer/invalid_utf8.h>

namespace dragoman::cli {

/// --invalid-utf8, for commands that read text.
class InvalidUtf8Option {
 public:
  void add_to(boost::program_options::options_description& options);
  /// UsageError for a value other than keep, replace and fail.
  tokenizer::InvalidUtf8 value() const;

 private:
  std::string word_;
};

}  // namespace dragoman::cli
