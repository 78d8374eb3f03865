#include "dragoman/tokenizer/learn_bpe.h"

#include "definition/add_token.h"
#include "definition/escapes.h"
#include "formats/youtokentome.h"
#include "learning/alphabet.h"
#include "learning/learn_within.h"
#include "learning/learning_corpus.h"
#include "learning/merge_learner.h"
#include "learning/spilled_corpus.h"
#include "merging/ranked_pieces.h"
#include "normalizing/character_map.h"
#include "regex/marked_pattern.h"
#include "regex/pattern.h"

#include <algorithm>
#include <iterator>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/byte_pieces.h>
#include <dragoman/tokenizer/character_maps.h>
#include <dragoman/tokenizer/learning_tables.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/word_mark.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;
using core::require_option;

void check_sentencepiece(const LearnOptions& options) {
  const auto check = [](bool condition, std::string_view what) {
    require(condition, ErrorCode::kInvalidArgument,
            "a SentencePiece model has no place for {}; leave it out, or SentencePiece's normalisation", what);
  };
  check(options.normalization == Normalization::kNone && !options.lowercase, "other steps of normalisation");
  check(!options.split_case && !options.split_punctuation, "cutting words at punctuation or at changes of case");
  check(options.protected_patterns.empty(), "protected patterns");
  check(options.word_marks && !options.spaces_apart, "words without marks");
  const SentencePieceNormalization& d = *options.sentencepiece;
  check(d.dummy_prefix && d.remove_extra_spaces && d.escape_spaces && !d.space_as_suffix,
        "another way to mark spaces in words that are learned apart");
}

void check_options(const std::vector<std::filesystem::path>& inputs, const LearnOptions& options) {
  require(!inputs.empty(), ErrorCode::kInvalidArgument, "there is no file to learn from");
  learn_bpe_table().require_in_range(options);
  require(options.smallest_vocab_size >= 0 && options.smallest_vocab_size <= options.vocab_size,
          ErrorCode::kInvalidArgument, "the smallest vocabulary size is {}; it must be from 0 to the size, {}",
          options.smallest_vocab_size, options.vocab_size);
  require(!options.split_case || !options.lowercase, ErrorCode::kInvalidArgument,
          "there is nothing to cut at changes of case in lower-cased text; leave one of the two out");
  require(!options.spaces_apart || !options.word_marks, ErrorCode::kInvalidArgument,
          "spaces are pieces of their own only without word marks; leave the marks out");
  require_option(
      !options.spaces_apart || options.min_word_count < 2, "min_word_count", ErrorCode::kInvalidArgument,
      "without word marks whole lines are counted, so rare words cannot be left out by their count; leave the "
      "smallest count of words (`min_word_count`) at 1");
  if (options.sentencepiece) check_sentencepiece(options);
}

/// Returns whether words can be counted separately: no pattern depends on text after the space that ends a word.
bool patterns_stay_in_words(const LearnOptions& options) {
  if (options.protected_patterns.empty()) return true;
  const Pattern pattern(join_patterns(options.protected_patterns, true));
  return pattern.stops_before(kWordMarkCharacter);
}

bool rules_stay_in_words(const LearnOptions& options) {
  return !options.sentencepiece || options.sentencepiece->character_map.empty() ||
         !CharacterMap(options.sentencepiece->character_map, "character map").has_rule_over(' ');
}

bool symbols_stay_in_words(const LearnOptions& options) {
  return std::ranges::none_of(options.user_symbols, [](const std::string& symbol) {
    return symbol.find(' ') != std::string::npos || symbol.find(kWordMark) != std::string::npos;
  });
}

bool needs_whole_lines(WordSource::Kind kind, const LearnOptions& options) {
  require_option(
      !options.spaces_apart || kind == WordSource::Kind::kTexts, "input", ErrorCode::kInvalidArgument,
      "without word marks a space is a piece like others, but count files hold none; learn from the text itself "
      "(`input`)");
  if (!options.word_marks) return true;
  const bool in_words =
      patterns_stay_in_words(options) && rules_stay_in_words(options) && symbols_stay_in_words(options);
  require_option(
      in_words || kind == WordSource::Kind::kTexts, "input", ErrorCode::kInvalidArgument,
      "a user symbol holds a space, or a protected pattern or a rule of normalisation can match one or depends on what "
      "follows a word, but count files hold single words; learn from the text itself (`input`)");
  return !in_words;
}

void add_first_pieces(BpeDefinition& definition, const LearnOptions& options) {
  add_tokens(definition, options.special_tokens, true);
  const char* const unknown_token = options.written_as == FileKind::kYouTokenToMe ? "<UNK>" : "<unk>";
  if (const auto unknown = std::ranges::find(definition.pieces, unknown_token); unknown != definition.pieces.end())
    definition.unknown = static_cast<std::int32_t>(unknown - definition.pieces.begin());
  for (int byte = 0; byte < 256 && options.byte_fallback; ++byte)
    definition.pieces.push_back(piece_of_byte(static_cast<unsigned char>(byte)));
  add_tokens(definition, options.user_symbols, false, options.sentencepiece ? kWordMark : " ");
}

/// Returns the pattern of text that is separated from its neighbours: the user's patterns and, with spaces_apart, the
/// mark of each space.
std::string protected_pattern(const LearnOptions& options) {
  std::string pattern = join_patterns(options.protected_patterns, options.spaces_are_marks());
  if (!options.spaces_apart) return pattern;
  if (!pattern.empty()) pattern += '|';
  return pattern + kWordMark;
}

/// A mark is prepended to every text and replaces every space, and decoding reverses this. Leading spaces are thus
/// preserved too.
void add_text_steps(BpeDefinition& definition, const LearnOptions& options) {
  if (options.sentencepiece) {
    definition.text = SentencePieceText{.normalization = *options.sentencepiece,
                                        .split_at_marks = true,
                                        .split_digits = options.split_digits,
                                        .byte_fallback = options.byte_fallback,
                                        .decodes_bytes = options.byte_fallback};
    definition.fuse_unknown = true;
    return;
  }
  using Kind = NormalizerStep::Kind;
  auto& text = definition.text.emplace<CharacterText>();
  const bool for_youtokentome = options.written_as == FileKind::kYouTokenToMe;
  definition.fuse_unknown = options.written_as == FileKind::kSentencePiece || for_youtokentome;
  text.byte_fallback = options.byte_fallback;
  if (options.normalization == Normalization::kNfc) text.normalizer.push_back({Kind::kNfc, {}, {}});
  if (options.normalization == Normalization::kNfkc) text.normalizer.push_back({Kind::kNfkc, {}, {}});
  if (options.lowercase) text.normalizer.push_back({Kind::kLowercase, {}, {}});
  text.pre_tokenizer = SplitBefore{.mark = options.word_marks ? kWordMark : "",
                                   .inner = {.digits = options.split_digits,
                                             .letter_case = options.split_case,
                                             .punctuation = options.split_punctuation,
                                             .protected_pattern = protected_pattern(options)}};
  auto& decoder = text.decoder.emplace<DecoderSteps>(DecoderSteps{.byte_fallback = options.byte_fallback});
  add_escapes(definition, options.spaces_are_marks() && options.escape_marks && !for_youtokentome);
  if (!options.spaces_are_marks()) return;
  if (for_youtokentome) std::ranges::copy(youtokentome_spaces(), std::back_inserter(text.normalizer));
  if (options.word_marks) text.normalizer.push_back({Kind::kPrepend, {}, kWordMark});
  text.normalizer.push_back({Kind::kReplace, " ", kWordMark});
  decoder.replacements.push_back({kWordMark, " "});
  if (!options.word_marks) return;
  decoder.drop_space_after_symbols = !options.user_symbols.empty();
  decoder.strip = Strip{.character = " "};
}

/// Adds a piece for each character and returns the ids by character. A character that is a user-defined symbol is
/// skipped.
CharacterTable add_alphabet(BpeDefinition& definition, const std::vector<char32_t>& alphabet) {
  CharacterTable ids;
  const core::TextSet known(definition.pieces.begin(), definition.pieces.end());
  for (const char32_t character : alphabet) {
    std::string piece;
    core::append_utf8(piece, character);
    if (known.contains(piece)) continue;
    ids.set(character, static_cast<std::int32_t>(definition.pieces.size()));
    definition.pieces.push_back(piece);
  }
  return ids;
}

void check_size(const BpeDefinition& definition, std::size_t first_character, const LearnOptions& options) {
  const std::size_t characters = definition.pieces.size() - first_character;
  const std::int32_t size = options.smallest_vocab_size > 0 ? options.smallest_vocab_size : options.vocab_size;
  require(static_cast<std::size_t>(size) >= definition.pieces.size(), ErrorCode::kInvalidArgument,
          "a vocabulary of {} is too small: {} special tokens, {} bytes, {} user symbols and {} characters need at "
          "least {}; "
          "ask for more pieces or for less character coverage",
          size, options.special_tokens.size(), options.byte_fallback ? 256 : 0, options.user_symbols.size(), characters,
          definition.pieces.size());
}

std::string file_list(const std::vector<std::filesystem::path>& files) {
  return files.size() == 1 ? files.front().string()
                           : fmt::format("{} and {} further files", files.front().string(), files.size() - 1);
}

/// Removes the cuts at digits, which a SentencePiece model cannot store. The learned merges keep to them.
void drop_digit_cuts(BpeDefinition& definition) {
  if (auto* sentencepiece = std::get_if<SentencePieceText>(&definition.text)) sentencepiece->split_digits = false;
  if (auto* characters = std::get_if<CharacterText>(&definition.text))
    if (auto* split = std::get_if<SplitBefore>(&characters->pre_tokenizer)) split->inner.digits = false;
}

/// Writes a vocabulary of these options with two characters and a merge. Options that the kind cannot represent are
/// thus rejected before the corpus is read.
void check_kind(BpeDefinition sample, FileKind kind) {
  if (kind == FileKind::kSentencePiece) drop_digit_cuts(sample);
  for (const char* piece : {kWordMark, "a"})
    if (std::ranges::find(sample.pieces, piece) == sample.pieces.end()) sample.pieces.emplace_back(piece);
  const std::string merged = std::string(kWordMark) + "a";
  const auto id_of = [&](std::string_view piece) {
    return static_cast<std::int32_t>(std::ranges::find(sample.pieces, piece) - sample.pieces.begin());
  };
  const bool symbol = std::ranges::any_of(sample.added_tokens, [&](const AddedToken& token) {
    const std::string& text = sample.pieces[static_cast<std::size_t>(token.id)];
    return text == "a" || text == kWordMark || text == merged;
  });
  if (!symbol) {
    sample.pieces.push_back(merged);
    sample.merges.push_back({id_of(kWordMark), id_of("a"), id_of(merged)});
  }
  check_can_be_written(sample, kind);
}

/// One call of learning. Words are first counted, then stored as a corpus, and finally only its layout is kept.
class Learning {
 public:
  Learning(const MemoryPlan& plan, const WordSource& source, const LearnOptions& options,
           const core::ProgressSink& progress, const core::LogSink& log, const std::stop_token& stop)
      : plan_(plan), source_(source), options_(options), progress_(progress), log_(log), stop_(stop) {
    add_first_pieces(definition_, options);
    add_text_steps(definition_, options);
    if (options.written_as) check_kind(definition_, *options.written_as);
  }

  BpeTokenizer run() {
    ThreadArena arena(plan_.threads);
    PairStatistics::Text text = count_and_lay_out(arena);
    const auto wanted = static_cast<std::size_t>(options_.vocab_size);
    const auto division = PairStatistics::divide(text, arena, merges_up_to(wanted, definition_));
    PairStatistics statistics(std::move(text), options_.min_frequency, arena, division);
    MergeLearner(definition_, wanted, max_piece_length()).run(statistics, progress_, stop_);
    warn_if_short(definition_, wanted, options_.min_frequency, log_);
    if (options_.written_as == FileKind::kSentencePiece) drop_digit_cuts(definition_);
    return BpeTokenizer(std::move(definition_), "learned vocabulary");
  }

 private:
  /// The bound that the caller or the kind of file sets; 0: none.
  std::size_t max_piece_length() const {
    const auto wanted = static_cast<std::size_t>(options_.max_piece_length);
    if (options_.written_as != FileKind::kSentencePiece) return wanted;
    return wanted == 0 ? kLongestMergedPiece : std::min(wanted, kLongestMergedPiece);
  }

  PairStatistics::Text count_and_lay_out(ThreadArena& arena) {
    CountedWords words = collect_words(source_, plan_, arena, progress_, stop_);
    if (words.on_disk) {
      SpilledCorpus corpus(*words.on_disk, options_.min_word_count, definition_, plan_, progress_, stop_);
      report_dropped(corpus.dropped(), corpus.total(), options_.min_word_count, log_);
      return lay_out(corpus, [&] { return corpus.min_count_for(most_cells()); });
    }
    drop_rare_words(words.in_memory);
    LearningCorpus corpus(std::move(words.in_memory), definition_, arena);
    return lay_out(corpus, [] { return 0; });
  }

  void drop_rare_words(WordCounts& words) const {
    if (options_.min_word_count < 2) return;
    const WordTotal all = words.total();
    report_dropped(words.drop_below(options_.min_word_count), all, options_.min_word_count, log_);
  }

  template <class Corpus, class MinCountThatFits>
  PairStatistics::Text lay_out(Corpus& corpus, MinCountThatFits&& min_count_that_fits) {
    require(corpus.distinct_words() > 0, ErrorCode::kBadInput, "{}: no words to learn from{}", file_list(source_.files),
            options_.min_word_count < 2 ? "" : fmt::format(" occur {} times or more", options_.min_word_count));
    core::log(log_, core::LogLevel::kInfo, fmt::format("{} distinct words", corpus.distinct_words()));
    const std::size_t first_character = definition_.pieces.size();
    const auto mark = options_.spaces_are_marks() ? std::optional(kWordMarkCharacter) : std::nullopt;
    auto alphabet = choose_alphabet(corpus.count_characters(), options_.character_coverage, mark);
    // The SentencePiece library terminates texts of pieces at NUL.
    if (options_.written_as == FileKind::kSentencePiece) std::erase(alphabet, U'\0');
    const CharacterTable ids = add_alphabet(definition_, alphabet);
    check_size(definition_, first_character, options_);
    if (corpus.cells() > most_cells()) fail_for_memory(corpus.distinct_words(), corpus.cells(), min_count_that_fits());
    return corpus.lay_out(ids);
  }

  std::uint64_t most_cells() const {
    return tokenizer::most_cells(plan_, static_cast<std::uint64_t>(options_.vocab_size));
  }

  [[noreturn]] void fail_for_memory(std::uint64_t words, std::uint64_t cells, std::uint64_t min_count) const {
    const std::string needed = in_megabytes(learning_bytes(cells, static_cast<std::uint64_t>(options_.vocab_size)));
    core::fail_option(
        "memory", ErrorCode::kInvalidArgument,
        "{}: learning from its {} distinct words takes {} of memory and the budget is {}; allow more (`memory` "
        "{}), or leave out rare words (`min_word_count` {})",
        file_list(source_.files), words, needed, in_megabytes(plan_.budget), needed,
        min_count == 0 ? "N" : std::to_string(min_count));
  }

  const MemoryPlan& plan_;
  const WordSource& source_;
  const LearnOptions& options_;
  const core::ProgressSink& progress_;
  const core::LogSink& log_;
  const std::stop_token& stop_;
  BpeDefinition definition_;
};

BpeTokenizer learn_from_files(const std::vector<std::filesystem::path>& files, WordSource::Kind kind,
                              const LearnOptions& given, const core::ProgressSink& progress, const core::LogSink& log,
                              const std::stop_token& stop) {
  check_options(files, given);
  LearnOptions options = given;
  if (options.sentencepiece) complete_character_map(*options.sentencepiece);
  const WordSource source{.files = files,
                          .kind = kind,
                          .whole_lines = needs_whole_lines(kind, options),
                          .invalid_utf8 = options.invalid_utf8,
                          .log = log};
  return learn_within(MemoryPlan::of(options.memory, options.threads), source, options, progress, log, stop);
}

}  // namespace

BpeTokenizer learn_within(const MemoryPlan& plan, const WordSource& source, const LearnOptions& options,
                          const core::ProgressSink& progress, const core::LogSink& log, const std::stop_token& stop) {
  return Learning(plan, source, options, progress, log, stop).run();
}

void check_protected_pattern(const std::string& pattern) {
  join_patterns({pattern}, true);
}

BpeTokenizer learn_bpe(const std::vector<std::filesystem::path>& inputs, const LearnOptions& options,
                       const core::ProgressSink& progress, const core::LogSink& log, std::stop_token stop) {
  return learn_from_files(inputs, WordSource::Kind::kTexts, options, progress, log, stop);
}

BpeTokenizer learn_bpe_from_counts(const std::vector<std::filesystem::path>& counts, const LearnOptions& options,
                                   const core::ProgressSink& progress, const core::LogSink& log, std::stop_token stop) {
  return learn_from_files(counts, WordSource::Kind::kCounts, options, progress, log, stop);
}

}  // namespace dragoman::tokenizer
