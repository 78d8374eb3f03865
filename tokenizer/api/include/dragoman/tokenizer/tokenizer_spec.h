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
/// the file or its content. Commands, pipeline stages and training configurations name a file. Importers, training runs
/// and writers of model folders have the content. The config.json of a model folder has neither, because the folder
/// contains the file under a fixed name.
///
///     const TokenizerSpec spec{.type = "sentencepiece", .file = "source.spm"};
///
/// plugins::open_tokenizer() opens the tokenizer that it specifies.
struct TokenizerSpec {
  static constexpr const char* kNative = "tokenizer-json";

  /// The name of a registered kind. If empty: for a model, tokenizer.json; for a file, the built-in kind recognised by
  /// its content.
  std::string type = {};
  core::SharedJson options = {};  ///< an object that the kind reads
  std::string plugin = {};        ///< the plugin that provides the kind; empty for built-in kinds
  std::string file = {};          ///< the path, if the file has not been read yet
  std::string content = {};       ///< the content of the file, decompressed

  /// Returns whether there is neither a file nor content.
  bool empty() const noexcept { return file.empty() && content.empty(); }
  /// Returns the kind of a model's tokenizer.
  std::string_view kind() const noexcept { return type.empty() ? std::string_view(kNative) : type; }
  /// Returns whether it is a tokenizer.json without options. config.json has no entry for such a tokenizer.
  bool is_native() const noexcept { return kind() == kNative && options.empty(); }
  /// Returns this specification with `text` as its content. without_content() returns it with neither file nor content.
  TokenizerSpec with_content(std::string text) const {
    return {.type = type, .options = options, .plugin = plugin, .content = std::move(text)};
  }
  TokenizerSpec without_content() const { return with_content({}); }
  bool operator==(const TokenizerSpec&) const = default;
};

/// A tokenizer's file for the factory of its kind. It is read once, as a whole, and has at most kLargest bytes.
struct TokenizerFile {
  static constexpr std::uint64_t kLargest = std::uint64_t{256} << 20;

  std::filesystem::path path;  ///< for messages
  std::string content;         ///< decompressed
};

/// An example of a kind, for the conformance kit.
struct TokenizerExample {
  std::string content = {};             ///< a small file of that kind
  std::vector<std::string> texts = {};  ///< texts that encoding and decoding leave unchanged
  core::SharedJson options = {};
};

}  // namespace dragoman::tokenizer
