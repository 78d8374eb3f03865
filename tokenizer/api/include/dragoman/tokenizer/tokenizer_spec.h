#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/shared_json.h>

namespace dragoman::tokenizer {

/// The specification of a tokenizer: the kind of its file, the options of that kind, the plugin that provides it, and
/// the file or its content. Commands, pipeline stages and training configurations name a file. config.json of a model
/// folder names neither, since the folder contains the file under a fixed name. Importers, training runs and writers of
/// model folders have the content.
struct TokenizerSpec {
  static constexpr const char* kNative = "tokenizer-json";

  /// The name of a registered kind. Empty: for a model, a tokenizer.json; for a file, the built-in kind that its
  /// content shows.
  std::string type = {};
  core::SharedJson options = {};  ///< an object; the kind reads it itself
  std::string plugin = {};        ///< the plugin that provides the kind; empty for built-in kinds
  std::string file = {};          ///< the path, if the file is still to be read
  std::string content = {};       ///< of the file, decompressed

  /// Whether there is neither a file nor content.
  bool empty() const noexcept { return file.empty() && content.empty(); }
  /// The kind of a model's tokenizer.
  std::string_view kind() const noexcept { return type.empty() ? std::string_view(kNative) : type; }
  /// Whether it is a tokenizer.json without options. config.json has no entry for such a tokenizer.
  bool is_native() const noexcept { return kind() == kNative && options.empty(); }
  /// Returns this specification with `text` as its content, or with neither file nor content.
  TokenizerSpec with_content(std::string text) const {
    return {.type = type, .options = options, .plugin = plugin, .content = std::move(text)};
  }
  TokenizerSpec without_content() const { return with_content({}); }
  bool operator==(const TokenizerSpec&) const = default;
};

/// A tokenizer's file as the factory of its kind takes it: read once, whole, and never larger than this.
struct TokenizerFile {
  static constexpr std::uint64_t kLargest = std::uint64_t{256} << 20;

  std::filesystem::path path;  ///< for messages
  std::string content;         ///< decompressed
};

/// An example of a kind, for the conformance kit.
struct TokenizerExample {
  std::string content = {};             ///< of a small file of that kind
  std::vector<std::string> texts = {};  ///< texts that the tokenizer encodes and decodes without a change
  core::SharedJson options = {};
};

}  // namespace dragoman::tokenizer
