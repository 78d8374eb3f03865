#include "call.h"
#include "learning_options.h"
#include "parts.h"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <dragoman/core/option_error.h>
#include <dragoman/dragoman.h>
#include <dragoman/tokenizer/learn_codes.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::python {
namespace {

/// Sets the member that a keyword names. Returns false if it is not this one.
template <class Value, class Target>
bool set(std::string_view name, std::string_view key, nb::handle value, Target& member) {
  if (name != key) return false;
  Value converted{};
  core::require_option(nb::try_cast(value, converted), std::string(key), ErrorCode::kInvalidArgument,
                       "`{}` has a value of the wrong type, {}", key,
                       nb::cast<std::string>(value.type().attr("__name__")));
  member = std::move(converted);
  return true;
}

/// Sets the member that a keyword names from bytes or a str. Returns false if it is not this one.
bool set_bytes(std::string_view name, std::string_view key, nb::handle value, std::string& member) {
  if (name == key) member = text_of(value);
  return name == key;
}

/// As set(), for a fixed list of names.
template <class Value>
bool choose(std::string_view name, std::string_view key, nb::handle value, Value& member,
            const std::vector<std::pair<std::string_view, Value>>& choices) {
  std::string word;
  if (!set<std::string>(name, key, value, word)) return false;
  std::string all;
  for (const auto& [spelling, meant] : choices) {
    if (spelling == word) {
      member = meant;
      return true;
    }
    all.append(all.empty() ? "" : ", ").append(spelling);
  }
  core::fail_option(std::string(key), ErrorCode::kInvalidArgument, "`{}` is \"{}\"; it must be one of {}", key, word,
                    all);
}

using Text = std::string;
using Texts = std::vector<std::string>;
using tokenizer::InvalidUtf8;
using tokenizer::Normalization;

const std::vector<std::pair<std::string_view, InvalidUtf8>> kInvalidUtf8{
    {"keep", InvalidUtf8::kKeep}, {"replace", InvalidUtf8::kReplace}, {"fail", InvalidUtf8::kFail}};
const std::vector<std::pair<std::string_view, Normalization>> kNormalization{
    {"none", Normalization::kNone}, {"nfc", Normalization::kNfc}, {"nfkc", Normalization::kNfkc}};

[[noreturn]] void fail_unknown(std::string_view name, std::string_view function) {
  throw nb::type_error(fmt::format("{}() has no option '{}'", function, name).c_str());
}

LearnBpeOptions bpe_options(const nb::dict& given) {
  LearnBpeOptions options;
  tokenizer::SentencePieceNormalization sentencepiece;
  bool as_sentencepiece = false;
  std::string kind;
  for (const auto& [key, v] : given) {
    const std::string k = nb::cast<std::string>(key);
    const bool known =
        set<std::int32_t>(k, "vocab_size", v, options.vocab_size) ||
        set<std::uint64_t>(k, "min_frequency", v, options.min_frequency) ||
        set<std::int32_t>(k, "max_piece_length", v, options.max_piece_length) ||
        set<double>(k, "character_coverage", v, options.character_coverage) ||
        set<Texts>(k, "special_tokens", v, options.special_tokens) ||
        set<Texts>(k, "user_symbols", v, options.user_symbols) ||
        set<bool>(k, "byte_fallback", v, options.byte_fallback) ||
        choose(k, "normalization", v, options.normalization, kNormalization) ||
        set<bool>(k, "lowercase", v, options.lowercase) || set<bool>(k, "split_digits", v, options.split_digits) ||
        set<bool>(k, "split_case", v, options.split_case) ||
        set<bool>(k, "split_punctuation", v, options.split_punctuation) ||
        set<Texts>(k, "protect", v, options.protected_patterns) || set<bool>(k, "word_marks", v, options.word_marks) ||
        set<bool>(k, "spaces_apart", v, options.spaces_apart) ||
        set<bool>(k, "escape_marks", v, options.escape_marks) ||
        set<std::uint64_t>(k, "min_word_count", v, options.min_word_count) ||
        choose(k, "invalid_utf8", v, options.invalid_utf8, kInvalidUtf8) ||
        set<int>(k, "threads", v, options.threads) || set<std::uint64_t>(k, "memory", v, options.memory.bytes) ||
        set<bool>(k, "sentencepiece", v, as_sentencepiece) || set<Text>(k, "character_map", v, sentencepiece.name) ||
        set<bool>(k, "dummy_prefix", v, sentencepiece.dummy_prefix) ||
        set<bool>(k, "remove_extra_spaces", v, sentencepiece.remove_extra_spaces) ||
        set<bool>(k, "escape_spaces", v, sentencepiece.escape_spaces) ||
        set<bool>(k, "space_as_suffix", v, sentencepiece.space_as_suffix) || set<Text>(k, "written_as", v, kind);
    if (!known) fail_unknown(k, "learn_bpe");
  }
  if (as_sentencepiece) {
    options.sentencepiece = sentencepiece;
  } else {
    for (const char* key : {"character_map", "dummy_prefix", "remove_extra_spaces", "escape_spaces", "space_as_suffix"})
      core::require_option(!given.contains(key), key, ErrorCode::kInvalidArgument,
                           "`{}` has an effect with `sentencepiece` only", key);
  }
  if (!kind.empty()) {
    options.written_as = tokenizer::file_kind(kind);
    core::require_option(options.written_as.has_value(), "written_as", ErrorCode::kInvalidArgument,
                         "`written_as` is \"{}\"; it must be one of {}", kind,
                         fmt::join(tokenizer::file_kind_names(), ", "));
  }
  return options;
}

using Files = std::vector<std::filesystem::path>;

}  // namespace

LearnUnigramOptions unigram_options(const nb::dict& given) {
  LearnUnigramOptions options;
  options.normalization.name = "nmt_nfkc";  // as the command has it
  for (const auto& [key, v] : given) {
    const std::string k = nb::cast<std::string>(key);
    const bool known = set<std::int32_t>(k, "vocab_size", v, options.vocab_size) ||
                       set<double>(k, "character_coverage", v, options.character_coverage) ||
                       set<std::int64_t>(k, "seed_size", v, options.seed_size) ||
                       set<double>(k, "shrinking_factor", v, options.shrinking_factor) ||
                       set<int>(k, "sub_iterations", v, options.sub_iterations) ||
                       set<int>(k, "max_piece_length", v, options.max_piece_length) ||
                       set<Texts>(k, "special_tokens", v, options.special_tokens) ||
                       set<Texts>(k, "user_symbols", v, options.user_symbols) ||
                       set<bool>(k, "byte_fallback", v, options.byte_fallback) ||
                       set<bool>(k, "split_scripts", v, options.split_scripts) ||
                       set<bool>(k, "split_numbers", v, options.split_numbers) ||
                       set<bool>(k, "split_digits", v, options.split_digits) ||
                       set<bool>(k, "split_whitespace", v, options.split_whitespace) ||
                       set<bool>(k, "whitespace_pieces", v, options.whitespace_pieces) ||
                       set<Text>(k, "character_map", v, options.normalization.name) ||
                       set_bytes(k, "character_map_bytes", v, options.normalization.character_map) ||
                       set<bool>(k, "dummy_prefix", v, options.normalization.dummy_prefix) ||
                       set<bool>(k, "remove_extra_spaces", v, options.normalization.remove_extra_spaces) ||
                       set<bool>(k, "escape_spaces", v, options.normalization.escape_spaces) ||
                       set<bool>(k, "space_as_suffix", v, options.normalization.space_as_suffix) ||
                       set<std::uint64_t>(k, "min_word_count", v, options.min_word_count) ||
                       choose(k, "invalid_utf8", v, options.invalid_utf8, kInvalidUtf8) ||
                       set<int>(k, "threads", v, options.threads);
    if (!known) fail_unknown(k, "learn_unigram");
  }
  return options;
}

void add_learning(nb::module_& module) {
  module.def(
      "learn_bpe",
      [](const Files& files, const nb::dict& options, const nb::object& progress, const nb::object& log) {
        const LearnBpeOptions read = bpe_options(options);
        BlockingCall call;
        return call.run([&, on_progress = call.progress(progress), on_log = call.log(log)] {
          return learn_bpe(files, read, on_progress, on_log, call.stop());
        });
      },
      nb::arg("files"), nb::arg("options"), nb::arg("progress").none(), nb::arg("log").none());
  module.def(
      "learn_unigram",
      [](const Files& files, const nb::dict& options, const nb::object& progress, const nb::object& log) {
        const LearnUnigramOptions read = unigram_options(options);
        BlockingCall call;
        return call.run([&, on_progress = call.progress(progress), on_log = call.log(log)] {
          return learn_unigram(files, read, on_progress, on_log, call.stop());
        });
      },
      nb::arg("files"), nb::arg("options"), nb::arg("progress").none(), nb::arg("log").none());
  module.def(
      "learn_codes",
      [](const nb::dict& counts, std::size_t merges, std::int64_t min_frequency, const nb::object& progress) {
        std::vector<tokenizer::CodesWord> words;
        for (const auto& [word, count] : counts) words.push_back({text_of(word), nb::cast<std::uint64_t>(count)});
        BlockingCall call;
        return call.run([&, on_progress = call.progress(progress)] {
          return tokenizer::learn_codes(words, {.merges = merges, .min_frequency = min_frequency}, on_progress,
                                        call.stop());
        });
      },
      nb::arg("counts"), nb::arg("merges"), nb::arg("min_frequency"), nb::arg("progress").none());
}

}  // namespace dragoman::python
