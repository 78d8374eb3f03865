#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::formats {

/// Tags: tokens around a sentence in addition to its own tokens.
struct SequenceTags {
  std::vector<std::int32_t> source_prefix{};
  std::vector<std::int32_t> source_suffix{};  ///< after the closing end
  std::vector<std::int32_t> target_prefix{};  ///< the first tokens of every translation
  /// Whether sources have a closing end. Models of OpenNMT-py have none.
  bool source_end = true;

  /// Returns whether sentences have no tokens but their own and the ends.
  bool empty() const noexcept {
    return source_end && source_prefix.empty() && source_suffix.empty() && target_prefix.empty();
  }
  /// Returns the number of tags of the source, without its tokens and the end.
  std::size_t of_source() const noexcept { return source_prefix.size() + source_suffix.size(); }
  bool operator==(const SequenceTags&) const = default;
};

/// The tags of one language.
struct LanguageTags {
  /// If it is the source language: tags of the source.
  std::vector<std::int32_t> source_prefix{};
  std::vector<std::int32_t> source_suffix{};
  /// If it is the target language: tags before the source, and before the target.
  std::vector<std::int32_t> source_prefix_as_target{};
  std::vector<std::int32_t> target_prefix{};

  bool operator==(const LanguageTags&) const = default;
};

/// The tags of a multilingual model: for each language, and for every sentence.
///
///     const ModelConfig config = load_model_config("models/many-en");        // model_folder.h
///     const SequenceTags tags = config.languages.tags("deu_Latn", "eng_Latn");
///
/// A plain value, which may be read by any number of threads.
struct LanguageTable {
  /// More languages are treated as damage.
  static constexpr std::size_t kMaxLanguages = 10000;

  SequenceTags always{};
  std::vector<std::pair<std::string, LanguageTags>> languages{};  ///< by code, in the model's order
  /// The default language; empty if the language must be given wherever it makes a difference.
  std::string source_language{};
  std::string target_language{};

  bool empty() const noexcept { return always.empty() && languages.empty(); }
  const LanguageTags* find(std::string_view language) const;
  /// Returns the tags for a sentence in `source` that is translated into `target`. An empty argument means the table's
  /// default. The tags before the source are in this order: tags of every sentence, of the target language, of the
  /// source language.
  ///
  /// Throws Error{kInvalidArgument} for a language that the table lacks (the message suggests the nearest names), and
  /// for one that must be given.
  SequenceTags tags(std::string_view source, std::string_view target) const;
  /// Returns the number of tokens with which every target begins, or 0 if it differs between languages.
  std::int32_t tokens_of_target() const;
  bool operator==(const LanguageTable&) const = default;
};

/// Reads `languages` of config.json. Ids must be in the vocabularies and must not be the end. Throws Error{kBadInput}
/// that names `where` and the key.
LanguageTable read_language_table(const core::Json& json, const nn::SequenceSpec& sequences, const std::string& where);
core::Json to_json(const LanguageTable& table);

}  // namespace dragoman::formats
