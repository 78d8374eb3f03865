#include "dragoman/tokenizer/learning_tables.h"

#include "sentencepiece_corpus.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/sizes.h>
#include <dragoman/tokenizer/character_maps.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

using core::Json;
using core::OptionReader;
using core::OptionTable;

template <class Options>
void add_invalid_utf8(OptionTable<Options>& table) {
  table.choice("invalid_utf8", &Options::invalid_utf8,
               {{"keep", InvalidUtf8::kKeep}, {"replace", InvalidUtf8::kReplace}, {"fail", InvalidUtf8::kFail}}, "WHAT",
               "invalid UTF-8 in the text: keep, replace (by U+FFFD) or fail");
}

template <class Options>
void add_rare_words(OptionTable<Options>& table) {
  table.number("min_word_count", &Options::min_word_count, {}, "N", "ignore words that occur less often in the corpus");
}

template <class Options>
void add_coverage(OptionTable<Options>& table) {
  table.number("character_coverage", &Options::character_coverage, core::kShare, "SHARE",
               "share of the corpus's characters that become pieces");
}

template <class Options>
void add_pieces(OptionTable<Options>& table, std::string user_symbols) {
  table.group("Special pieces")
      .texts("special_tokens", &Options::special_tokens, "TOKEN...",
             "special tokens in the order of their ids, instead of <unk> <s> </s>")
      .texts("user_symbols", &Options::user_symbols, "SYMBOL...", std::move(user_symbols))
      .flag("byte_fallback", &Options::byte_fallback,
            "pieces for the 256 bytes, which represent unknown characters; otherwise they become <unk>",
            "no pieces for the 256 bytes; unknown characters become <unk>");
}

template <class Options>
void add_threads(OptionTable<Options>& table) {
  table.number("threads", &Options::threads, {.most = core::kMaxThreads}, "N",
               "0: all cores that the process may use; the result does not depend on it");
}

/// The names of SentencePiece's character maps.
core::Option character_map_option(const SentencePieceNormalization& usual) {
  core::Option option{
      .name = "character_map",
      .placeholder = "NAME",
      .help = "normalisation of SentencePiece: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf (_cf: lower case) or identity",
      .fallback = Json(usual.name)};
  for (const std::string_view name : character_map_names()) option.choices.emplace_back(name);
  return option;
}

void read_character_map(OptionReader& reader, SentencePieceNormalization& normalization) {
  std::vector<std::pair<std::string_view, std::string>> choices;
  for (const std::string_view name : character_map_names()) choices.emplace_back(name, name);
  normalization.name = reader.choice("character_map", normalization.name, choices);
}

/// The normalisation of a SentencePiece model, besides the character map.
OptionTable<SentencePieceNormalization> space_table() {
  using Normalization = SentencePieceNormalization;
  return OptionTable<Normalization>()
      .group("Words")
      .flag("space_as_suffix", &Normalization::space_as_suffix,
            "put the space mark at the end of words instead of the beginning")
      .flag("dummy_prefix", &Normalization::dummy_prefix, "a space mark before the first word of a text",
            "no space mark before the first word of a text")
      .flag("remove_extra_spaces", &Normalization::remove_extra_spaces, "remove leading, trailing and repeated spaces",
            "keep leading, trailing and repeated spaces; otherwise they are removed")
      .flag("escape_spaces", &Normalization::escape_spaces, "write spaces as the space mark U+2581",
            "keep spaces as they are");
}

/// The switch `sentencepiece`, and the options that need it.
void add_sentencepiece(OptionTable<LearnOptions>& table) {
  const auto spaces = space_table();
  std::vector<core::Option> options{character_map_option({})};
  options.insert(options.end(), spaces.options().begin(), spaces.options().end());
  std::vector<std::string> keys;
  for (core::Option& option : options) {
    option.help.insert(0, "with sentencepiece: ");
    keys.push_back(option.name);
  }
  options.insert(
      options.begin(),
      {.name = "sentencepiece",
       .placeholder = {},
       .help = "normalise texts and mark spaces as SentencePiece does; the vocabulary becomes a SentencePiece model",
       .fallback = Json(false)});
  table.custom(std::move(options), [spaces, keys](OptionReader& reader, LearnOptions& learn) {
    SentencePieceNormalization normalization;
    read_character_map(reader, normalization);
    spaces.read(reader, normalization);
    if (reader.get("sentencepiece", false)) {
      learn.sentencepiece = normalization;
      return;
    }
    for (const std::string& key : keys) reader.check(!reader.has(key), key, "has an effect with `sentencepiece` only");
  });
}

void add_memory(OptionTable<LearnOptions>& table) {
  table.custom({{.name = "memory",
                 .placeholder = "SIZE",
                 .help = "memory limit in bytes, or such as 2GiB; data beyond it goes to temporary files. The result "
                         "is the same. 0: no limit",
                 .fallback = Json(0)}},
               [](OptionReader& reader, LearnOptions& learn) {
                 if (!reader.has("memory")) return;
                 const Json& value = reader.subtree("memory");
                 if (value.is_string()) {
                   const auto bytes = core::spelled_size(value.get<std::string>());
                   reader.check(bytes.has_value(), "memory", core::demand_of_size());
                   learn.memory.bytes = *bytes;
                 } else {
                   learn.memory.bytes = reader.get("memory", std::uint64_t{0});
                 }
               });
}

void add_written_as(OptionTable<LearnOptions>& table) {
  table.custom({{.name = "written_as",
                 .placeholder = "KIND",
                 .help = "format that the vocabulary will be saved as: options that the format cannot represent are "
                         "errors before learning",
                 .choices = file_kind_names()}},
               [](OptionReader& reader, LearnOptions& learn) {
                 if (!reader.has("written_as")) return;
                 const auto name = reader.get("written_as", std::string());
                 learn.written_as = file_kind(name);
                 reader.check(
                     learn.written_as.has_value(), "written_as",
                     fmt::format("is \"{}\"; it must be one of: {}", name, fmt::join(file_kind_names(), ", ")));
               });
}

OptionTable<LearnOptions> make_bpe_table() {
  using Options = LearnOptions;
  OptionTable<Options> table;
  table.group("Files");
  add_invalid_utf8(table);
  add_written_as(table);
  table.group("Size")
      .number("vocab_size", &Options::vocab_size, {.least = 1}, "N", "total number of pieces")
      .number("min_frequency", &Options::min_frequency, {}, "N", "minimum frequency of a merged pair")
      .number("max_piece_length", &Options::max_piece_length, {}, "N",
              "maximum length of a merged piece in characters, including the word mark; 0: no limit; spm_train uses "
              "16");
  add_rare_words(table);
  add_coverage(table);
  add_pieces(table, "texts that are always one piece; they may contain spaces");
  table.group("Words")
      .choice("normalization", &Options::normalization,
              {{"none", Normalization::kNone}, {"nfc", Normalization::kNfc}, {"nfkc", Normalization::kNfkc}}, "FORM",
              "Unicode normalisation: none, nfc or nfkc")
      .flag("lowercase", &Options::lowercase, "convert the text to lower case")
      .flag("split_digits", &Options::split_digits, "make each digit a separate word")
      .flag("split_case", &Options::split_case,
            "split words before an upper-case letter that follows a lower-case one, as in camelCase")
      .flag("split_punctuation", &Options::split_punctuation,
            "split words between letters, numbers and other characters")
      .flag("word_marks", &Options::word_marks,
            "mark the beginning of words; otherwise pieces may span a whole line, unless spaces_apart is set",
            "no word marks: each space is a separate piece, written as U+2581")
      .flag("spaces_apart", &Options::spaces_apart,
            "without word_marks: each space is a separate piece, written as U+2581")
      .flag("escape_marks", &Options::escape_marks,
            "decode a U+2581 of the text to itself; otherwise to a space, as SentencePiece does",
            "decode a U+2581 of the text to a space, as SentencePiece does, instead of to itself")
      .texts("protect", &Options::protected_patterns, "REGEX...",
             "separate matches from the surrounding text and learn no merges from them: numbers, addresses, "
             "placeholders");
  add_sentencepiece(table);
  table.group("Machine");
  add_threads(table);
  add_memory(table);
  return table;
}

OptionTable<LearnUnigramOptions> make_unigram_table() {
  using Options = LearnUnigramOptions;
  OptionTable<Options> table;
  table.group("Files");
  add_invalid_utf8(table);
  table.group("Size").number("vocab_size", &Options::vocab_size, {.least = 1}, "N", "total number of pieces");
  add_coverage(table);
  table.number("seed_size", &Options::seed_size, {.least = 1}, "N", "number of frequent substrings to start from")
      .number("shrinking_factor", &Options::shrinking_factor,
              {.least = 0, .most = 1, .least_included = false, .most_included = false}, "SHARE",
              "share of the pieces that each round of pruning keeps")
      .number("sub_iterations", &Options::sub_iterations, {.least = 1}, "N",
              "rounds of expectation maximisation between two rounds of pruning")
      .number("max_piece_length", &Options::max_piece_length, {.least = 1, .most = kLongestPiece}, "N",
              "maximum length of a piece in characters");
  add_rare_words(table);
  add_pieces(table, "texts that are always one piece");
  table.group("Words")
      .custom({character_map_option(Options().normalization)},
              [](OptionReader& reader, Options& learn) { read_character_map(reader, learn.normalization); })
      .flag("split_digits", &Options::split_digits, "make each digit a separate piece")
      .flag("split_scripts", &Options::split_scripts, "no piece contains characters of several scripts",
            "allow characters of several scripts in a piece")
      .flag("split_numbers", &Options::split_numbers, "no piece contains both digits and letters",
            "allow both digits and letters in a piece")
      .flag("split_whitespace", &Options::split_whitespace, "no piece spans spaces", "allow pieces that span spaces")
      .flag("whitespace_pieces", &Options::whitespace_pieces,
            "allow pieces of several spaces, if the normalisation keeps runs of spaces")
      .include(&Options::normalization, space_table())
      .group("Machine");
  add_threads(table);
  return table;
}

}  // namespace

const OptionTable<LearnOptions>& learn_bpe_table() {
  static const auto table = make_bpe_table();
  return table;
}

const OptionTable<LearnUnigramOptions>& learn_unigram_table() {
  static const auto table = make_unigram_table();
  return table;
}

}  // namespace dragoman::tokenizer
