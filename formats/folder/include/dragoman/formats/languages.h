#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::formats {

/// Tokens that stand around a sentence beside its own: tags.
struct SequenceTags {
  std::vector<std::int32_t> source_prefix{};
  std::vector<std::int32_t> source_suffix{};  ///< behind the closing end
  std::vector<std::int32_t> target_prefix{};  ///< what every translation begins with

  bool empty() const noexcept { return source_prefix.empty() && source_suffix.empty() && target_prefix.empty(); }
  /// Of the source, beside its tokens and the end.
  std::size_t of_source() const noexcept { return source_prefix.size() + source_suffix.size(); }
  bool operator==(const SequenceTags&) const = default;
};

/// The tags of one language.
struct LanguageTags {
  /// Where it is the language of the source.
  std::vector<std::int32_t> source_prefix{};
  std::vector<std::int32_t> source_suffix{};
  /// Where it is the language of the target: in front of the source, and of the target.
  std::vector<std::int32_t> source_prefix_as_target{};
  std::vector<std::int32_t> target_prefix{};

  bool operator==(const LanguageTags&) const = default;
};

/// What a model of several languages needs to be told of a sentence, and what every sentence has.
struct LanguageTable {
  /// What is longer is damage.
  static constexpr std::size_t kMaxLanguages = 10000;

  SequenceTags always{};
  std::vector<std::pair<std::string, LanguageTags>> languages{};  ///< by code, in the model's order
  /// What is meant where nobody says anything; empty: it must be said, where it makes a difference.
  std::string source_language{};
  std::string target_language{};

  bool empty() const noexcept { return always.empty() && languages.empty(); }
  const LanguageTags* find(std::string_view language) const;
  /// The tags of a sentence in `source` that is to be one in `target`; empty: the table's default. In front of the
  /// source stand those of every sentence, of the target language, and of the source language.
  /// Error{kInvalidArgument} for a language that the table lacks, naming those nearest, and for one
  /// that has to be said.
  SequenceTags tags(std::string_view source, std::string_view target) const;
  /// How many tokens every target begins with; 0 where that differs from language to language.
  std::int32_t tokens_of_target() const;
  bool operator==(const LanguageTable&) const = default;
};

/// `languages` of config.json. Error{kBadInput} naming `where` and the key: ids must be of the vocabularies, and the
/// end is none of them.
LanguageTable read_language_table(const core::Json& json, const nn::SequenceSpec& sequences, const std::string& where);
core::Json to_json(const LanguageTable& table);

}  // namespace dragoman::formats
