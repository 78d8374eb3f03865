#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <dragoman/core/json.h>

namespace dragoman::tokenizer {

/// How a file becomes a tokenizer.
struct TokenizerKind {
  /// The name under which a kind is registered; empty: the file's content says which of the built-in ones it is.
  std::string type = {};
  core::Json options = core::Json::object();  ///< of that kind, which reads them itself
  bool operator==(const TokenizerKind&) const = default;
};

/// A tokenizer's file, read by whoever wants the tokenizer: once, whole, and never larger than this.
struct TokenizerFile {
  static constexpr std::uint64_t kLargest = std::uint64_t{256} << 20;

  std::filesystem::path path;  ///< for messages
  std::string content;         ///< decompressed
};

/// What shows a kind at work, for the conformance kit.
struct TokenizerExample {
  std::string content = {};             ///< of a small file of that kind
  std::vector<std::string> texts = {};  ///< that the tokenizer gives back as they are
  core::Json options = core::Json::object();
};

}  // namespace dragoman::tokenizer
