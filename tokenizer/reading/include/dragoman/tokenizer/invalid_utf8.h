#pragma once

namespace dragoman::tokenizer {

/// The treatment of bytes that are not UTF-8 when text is read.
enum class InvalidUtf8 {
  kKeep,     ///< unchanged: byte pieces can represent them, and decoding restores them
  kReplace,  ///< each ill-formed sequence becomes U+FFFD
  kFail,     ///< Error{kBadInput} that names file, line and byte
};

}  // namespace dragoman::tokenizer
