#include "options/tokenizer/invalid_utf8_option.h"

#include "program/command.h"

namespace dragoman::cli {

namespace po = boost::program_options;
using tokenizer::InvalidUtf8;

void InvalidUtf8Option::add_to(po::options_description& options) {
  options.add_options()("invalid-utf8", po::value(&word_)->default_value("keep")->value_name("WHAT"),
                        "invalid UTF-8 in the text: keep, replace (by U+FFFD) or fail");
}

InvalidUtf8 InvalidUtf8Option::value() const {
  if (word_ == "keep") return InvalidUtf8::kKeep;
  if (word_ == "replace") return InvalidUtf8::kReplace;
  if (word_ == "fail") return InvalidUtf8::kFail;
  throw UsageError("--invalid-utf8 " + word_ + ": must be keep, replace or fail");
}

}  // namespace dragoman::cli
