#include "sentencepiece_corpus.h"

#include "base/characters.h"
#include "base/trie.h"
#include "definition/add_token.h"
#include "interruption.h"
#include "learning/alphabet.h"
#include "normalizing/character_map.h"
#include "normalizing/sentencepiece_normalizer.h"
#include "reading/character_counts.h"

#include <algorithm>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>
#include <dragoman/tokenizer/character_maps.h>
#include <dragoman/tokenizer/learning_tables.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using core::require_option;
using Type = UnigramPiece::Type;

void check_token(const std::string& token, std::string_view kind, bool may_hold_space) {
  require(!token.empty(), ErrorCode::kInvalidArgument, "a {} is empty", kind);
  require(core::find_invalid_utf8(token) == std::string::npos, ErrorCode::kInvalidArgument, "a {} is not valid UTF-8",
          kind);
  require(token.find_first_of(std::string_view("\n\r\0", 3)) == std::string::npos, ErrorCode::kInvalidArgument,
          "the {} {} holds a line end or NUL", kind, Quoted{token});
  require(may_hold_space || token.find(' ') == std::string::npos, ErrorCode::kInvalidArgument,
          "the {} {} holds a space", kind, Quoted{token});
  require(token.find_first_not_of(' ') != std::string::npos, ErrorCode::kInvalidArgument,
          "a {} consists of spaces only", kind);
  require(!byte_of_piece(token), ErrorCode::kInvalidArgument, "the {} {} has the name of a byte piece", kind,
          Quoted{token});
}

/// Returns the reason why words cannot be counted separately, or an empty string if they can.
std::string_view reason_for_whole_lines(const LearnUnigramOptions& options) {
  const SentencePieceNormalization& d = options.normalization;
  if (!options.split_whitespace) return "pieces may reach over spaces";
  if (!d.dummy_prefix) return "the first word of a line has no mark in front";
  if (!d.remove_extra_spaces) return "runs of spaces are kept";
  if (!d.escape_spaces) return "spaces are not escaped";
  const auto spaced = [](const std::string& symbol) { return symbol.find(kWordMark) != std::string::npos; };
  if (std::ranges::any_of(options.user_symbols, spaced)) return "a user-defined symbol holds a space";
  if (!d.character_map.empty() && CharacterMap(d.character_map, "character map").has_rule_over(' '))
    return "a rule of the normalisation reaches over a space";
  return {};
}

/// Normalises and splits distinct words (or lines).
class WordNormalizer {
 public:
  explicit WordNormalizer(const LearnUnigramOptions& options)
      : options_(options),
        normalizer_(options.normalization, {options.user_symbols.begin(), options.user_symbols.end()},
                    "learned vocabulary"),
        mark_(options.normalization.escape_spaces ? kWordMark : " ") {
    std::vector<Trie::Entry> entries;
    for (const std::string& symbol : options.user_symbols) entries.emplace_back(symbol, 0);
    symbols_ = Trie(std::move(entries));
  }

  template <class Visit>
  void for_each_word(std::string_view raw, AlignedText& buffer, Visit&& visit) const {
    normalizer_.apply(raw, 0, false, buffer);
    const std::string_view text = buffer.text;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t symbol = symbols_.longest_prefix(text.substr(at)).length;
      if (symbol == 0) {
        at += core::utf8_length(static_cast<unsigned char>(text[at]));
        continue;
      }
      cut_at_marks(text.substr(begin, at - begin), visit);
      begin = at += symbol;
    }
    cut_at_marks(text.substr(begin), visit);
  }

 private:
  template <class Visit>
  void cut_at_marks(std::string_view text, Visit&& visit) const {
    while (!text.empty()) {
      const std::size_t end = options_.split_whitespace ? end_of_word(text) : text.size();
      visit(text.substr(0, end));
      text.remove_prefix(end);
    }
  }
  std::size_t end_of_word(std::string_view text) const {
    if (options_.normalization.space_as_suffix) {
      const std::size_t mark = text.find(mark_);
      return mark == std::string_view::npos ? text.size() : end_of_run(text, mark);
    }
    return std::min(text.find(mark_, text.starts_with(mark_) ? end_of_run(text, 0) : 1), text.size());
  }

  /// Returns the end of the mark at `begin`, and of the run of marks if it may be one piece.
  std::size_t end_of_run(std::string_view text, std::size_t begin) const {
    do {
      begin += mark_.size();
    } while (options_.whitespace_pieces && text.substr(begin).starts_with(mark_));
    return begin;
  }

  const LearnUnigramOptions& options_;
  SentencePieceNormalizer normalizer_;
  std::string_view mark_;
  Trie symbols_;
};

std::string files_of(const std::vector<std::filesystem::path>& files) {
  return files.size() == 1 ? files.front().string()
                           : fmt::format("{} and {} further files", files.front().string(), files.size() - 1);
}

}  // namespace

void check_unigram_options(const std::vector<std::filesystem::path>& files, const LearnUnigramOptions& options) {
  require(!files.empty(), ErrorCode::kInvalidArgument, "there is no file to learn from");
  learn_unigram_table().require_in_range(options);
  core::TextViewSet seen;
  for (const auto* tokens : {&options.special_tokens, &options.user_symbols}) {
    const bool special = tokens == &options.special_tokens;
    for (const std::string& token : *tokens) {
      check_token(token, special ? "special token" : "user-defined symbol", !special);
      require(seen.insert(token).second, ErrorCode::kInvalidArgument, "{} is given twice", Quoted{token});
    }
  }
  require(std::ranges::find(options.special_tokens, "<unk>") != options.special_tokens.end(),
          ErrorCode::kInvalidArgument,
          "there is no <unk> among the special tokens, and a unigram model needs an unknown piece; add it");
}

LearnUnigramOptions complete_options(LearnUnigramOptions options) {
  complete_character_map(options.normalization);
  if (options.normalization.escape_spaces)
    for (std::string& symbol : options.user_symbols) symbol = with_spaces_as(kWordMark, symbol);
  return options;
}

WordSource word_source(const std::vector<std::filesystem::path>& files, WordSource::Kind kind,
                       const LearnUnigramOptions& options, const core::LogSink& log) {
  const std::string_view whole_lines = reason_for_whole_lines(options);
  require_option(whole_lines.empty() || kind == WordSource::Kind::kTexts, "input", ErrorCode::kInvalidArgument,
                 "{}, but count files hold single words; learn from the text itself (`input`)", whole_lines);
  return {.files = files,
          .kind = kind,
          .whole_lines = !whole_lines.empty(),
          .invalid_utf8 = options.invalid_utf8,
          .log = log};
}

std::vector<UnigramPiece> given_pieces(const LearnUnigramOptions& options) {
  std::vector<UnigramPiece> pieces;
  for (const std::string& token : options.special_tokens)
    pieces.push_back({token, 0, token == "<unk>" ? Type::kUnknown : Type::kControl});
  for (const std::string& symbol : options.user_symbols) pieces.push_back({symbol, 0, Type::kUserDefined});
  for (int byte = 0; byte < 256 && options.byte_fallback; ++byte)
    pieces.push_back({piece_of_byte(static_cast<unsigned char>(byte)), 0, Type::kByte});
  return pieces;
}

SentencePieceCorpus::SentencePieceCorpus(const WordSource& source, const LearnUnigramOptions& options,
                                         const std::vector<std::string>& reserved, const MemoryPlan& plan,
                                         ThreadArena& arena, const core::ProgressSink& progress,
                                         const std::stop_token& stop)
    : source_(source),
      options_(options),
      reserved_(reserved),
      plan_(plan),
      arena_(arena),
      progress_(progress),
      stop_(stop) {}

UnigramWords SentencePieceCorpus::read() {
  const WordCounts counts = normalised_words();
  const std::vector<WordCount> words = counts.by_count(arena_);
  require(!words.empty(), ErrorCode::kBadInput, "{}: no words to learn from{}", files_of(source_.files),
          options_.min_word_count < 2 ? "" : fmt::format(" occur {} times or more", options_.min_word_count));
  core::log(source_.log, core::LogLevel::kInfo, fmt::format("{} distinct words", words.size()));
  choose_characters(words);
  return lay_out(words);
}

WordCounts SentencePieceCorpus::normalised_words() {
  CountedWords counted = collect_words(source_, plan_, arena_, progress_, stop_);
  WordCounts& raw = counted.in_memory;
  if (options_.min_word_count > 1) {
    const WordTotal all = raw.total();
    report_dropped(raw.drop_below(options_.min_word_count), all, options_.min_word_count, source_.log);
  }
  const WordNormalizer normalizer(options_);
  const std::vector<WordCount> words = raw.by_count(arena_);
  ThreadCounts split;
  split.for_each_block(arena_, words.size(), [&](WordCounts& mine, std::size_t i) {
    check_not_stopped(stop_);
    AlignedText buffer;
    normalizer.for_each_word(words[i].word, buffer, [&](std::string_view word) { mine.add(word, words[i].count); });
    add_characters(buffer.text.size(), words[i].count);
  });
  return split.join(arena_);
}

/// Every sum in learning is at most the number of characters, which is at most the number of bytes.
void SentencePieceCorpus::add_characters(std::uint64_t bytes, std::uint64_t count) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = bytes == 0 || count <= kMost / bytes;
  require(fits && characters_.fetch_add(bytes * count) <= kMost - bytes * count, ErrorCode::kBadInput,
          "{}: by their counts the words have 2^63 bytes or more in all, which is too many; divide the counts",
          files_of(source_.files));
}

void SentencePieceCorpus::choose_characters(const std::vector<WordCount>& words) {
  CharacterCounts counts;
  for (const WordCount& word : words)
    for_each_character(word.word, false, [&](char32_t character, bool) {
      if (character != 0) counts.add(character, word.count);
    });
  const std::optional<char32_t> mark =
      options_.normalization.escape_spaces ? std::optional(kWordMarkCharacter) : std::nullopt;
  alphabet_ = choose_alphabet(counts.take_sorted(), options_.character_coverage, mark);
  const core::TextViewSet reserved(reserved_.begin(), reserved_.end());
  std::erase_if(alphabet_, [&](char32_t character) {
    std::string text;
    core::append_utf8(text, character);
    return reserved.contains(text);
  });
  for (std::size_t i = 0; i < alphabet_.size(); ++i) symbols_.set(alphabet_[i], static_cast<std::int32_t>(i + 1));
  const std::size_t least = reserved_.size() + alphabet_.size();
  require(static_cast<std::size_t>(options_.vocab_size) >= least, ErrorCode::kInvalidArgument,
          "a vocabulary of {} is too small: {} special tokens, {} user symbols, {} bytes and {} characters need at "
          "least {}; ask for more pieces or for less character coverage",
          options_.vocab_size, options_.special_tokens.size(), options_.user_symbols.size(),
          options_.byte_fallback ? 256 : 0, alphabet_.size(), least);
}

/// A character without a piece ends a word, since no piece crosses it.
UnigramWords SentencePieceCorpus::lay_out(const std::vector<WordCount>& words) const {
  UnigramWords out;
  const auto end_word = [&](std::uint64_t count) {
    if (out.symbols.size() == (out.begins.empty() ? 0 : out.begins.back())) return;
    out.symbols.push_back(0);
    out.counts.push_back(count);
    out.begins.push_back(static_cast<std::uint32_t>(out.symbols.size()));
    require_option(out.symbols.size() < std::numeric_limits<std::uint32_t>::max() - kLongestPiece, "min_word_count",
                   ErrorCode::kBadInput,
                   "the distinct words of the corpus hold more than 2^32 characters; leave out rare words "
                   "(`min_word_count`), or learn from a sample of its lines");
  };
  out.begins.push_back(0);
  for (const WordCount& word : words) {
    for_each_character(word.word, false, [&](char32_t character, bool) {
      const std::int32_t symbol = symbols_.find(character);
      if (symbol < 0)
        end_word(word.count);
      else
        out.symbols.push_back(static_cast<UnigramSymbol>(symbol));
    });
    end_word(word.count);
  }
  return out;
}

}  // namespace dragoman::tokenizer
