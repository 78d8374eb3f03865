#pragma once

namespace dragoman::tokenizer {

/// What readers of text do with bytes that are not UTF-8.
enum class InvalidUtf8 {
  kKeep,     ///< they stay as they are: byte pieces can write them, and decoding gives them back
  kReplace,  ///< each ill-formed sequence becomes U+FFFD
  kFail,     ///< Error{kBadInput} that names file, line and byte
};

}  // namespace dragoman::tokenizer
