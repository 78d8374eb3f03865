#include "dragoman/tokenizer/tokenizer.h"
#include "learning_corpus.h"
#include "merge_learner.h"
#include "word_counts.h"

#include <algorithm>
#include <unordered_map>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

constexpr char32_t kWordMarkCharacter = 0x2581;
/// How many merges pass between looks at the stop request and reports of progress.
constexpr std::size_t kReportInterval = 256;

void check_options(const std::vector<std::filesystem::path>& inputs, const LearnOptions& options) {
  require(!inputs.empty(), ErrorCode::kInvalidArgument, "there is no file to learn from");
  require(options.character_coverage > 0 && options.character_coverage <= 1, ErrorCode::kInvalidArgument,
          "the character coverage is {}; it must be above 0 and at most 1", options.character_coverage);
  require(options.vocab_size > 0, ErrorCode::kInvalidArgument, "the vocabulary size is {}; it must be above 0",
          options.vocab_size);
  require(options.threads >= 0, ErrorCode::kInvalidArgument, "the number of threads is {}; it must not be negative",
          options.threads);
}

void check_added_token(const std::string& token, std::string_view kind) {
  require(!token.empty(), ErrorCode::kInvalidArgument, "a {} is empty", kind);
  require(core::find_invalid_utf8(token) == std::string::npos, ErrorCode::kInvalidArgument, "a {} is not valid UTF-8",
          kind);
  require(token.find_first_of(" \n\r") == std::string::npos && token.find(kWordMark) == std::string::npos,
          ErrorCode::kInvalidArgument, "the {} '{}' holds a space, a line end or {}, which pieces cannot tell apart",
          kind, token, kWordMark);
}

void add_token(BpeDefinition& definition, const std::string& token, bool special) {
  const std::string_view kind = special ? "special token" : "user-defined symbol";
  check_added_token(token, kind);
  // A special token of one character would come up wherever that character stands in the text.
  require(!special || core::decode_utf8(token, 0).length < token.size(), ErrorCode::kInvalidArgument,
          "the special token '{}' is a single character; a special token needs at least two", token);
  require(!byte_of_piece(token), ErrorCode::kInvalidArgument, "the {} '{}' has the name of a byte piece", kind, token);
  require(std::find(definition.pieces.begin(), definition.pieces.end(), token) == definition.pieces.end(),
          ErrorCode::kInvalidArgument, "the {} '{}' is given twice", kind, token);
  definition.added_tokens.push_back({static_cast<std::int32_t>(definition.pieces.size()), special});
  definition.pieces.push_back(token);
}

void add_first_pieces(BpeDefinition& definition, const LearnOptions& options) {
  for (const std::string& token : options.special_tokens) {
    if (token == "<unk>") definition.unknown = static_cast<std::int32_t>(definition.pieces.size());
    add_token(definition, token, true);
  }
  definition.byte_fallback = options.byte_fallback;
  for (int byte = 0; byte < 256 && options.byte_fallback; ++byte)
    definition.pieces.push_back(piece_of_byte(static_cast<unsigned char>(byte)));
  for (const std::string& symbol : options.user_symbols) add_token(definition, symbol, false);
}

/// The mark goes in front of every text and into every place of a space, and comes off again: so spaces at the start
/// survive, too.
void add_text_steps(BpeDefinition& definition, const LearnOptions& options) {
  using Kind = NormalizerStep::Kind;
  if (options.normalization == Normalization::kNfc) definition.normalizer.push_back({Kind::kNfc, {}, {}});
  if (options.normalization == Normalization::kNfkc) definition.normalizer.push_back({Kind::kNfkc, {}, {}});
  if (options.lowercase) definition.normalizer.push_back({Kind::kLowercase, {}, {}});
  definition.decoder.byte_fallback = options.byte_fallback;
  if (!options.word_marks) return;
  definition.normalizer.push_back({Kind::kPrepend, {}, kWordMark});
  definition.normalizer.push_back({Kind::kReplace, " ", kWordMark});
  definition.split_pattern = std::string(kWordMark);
  definition.decoder.replacements.push_back({kWordMark, " "});
  definition.decoder.drop_space_after_symbols = !options.user_symbols.empty();
  definition.decoder.strip = std::string(" ");
  definition.decoder.strip_count = 1;
}

/// The most frequent characters that together make up the wanted share of the text, and the word mark in any case.
std::vector<char32_t> choose_alphabet(const std::vector<CharacterCount>& counts, const LearnOptions& options) {
  std::uint64_t total = 0;
  for (const CharacterCount& entry : counts) total += entry.count;
  const double wanted = options.character_coverage * static_cast<double>(total);
  std::uint64_t covered = 0;
  std::vector<char32_t> alphabet;
  for (const CharacterCount& entry : counts) {
    const bool needed = options.word_marks && entry.character == kWordMarkCharacter;
    if (needed || static_cast<double>(covered) < wanted) alphabet.push_back(entry.character);
    covered += entry.count;
  }
  return alphabet;
}

/// Adds a piece for each character; returns the ids by character. One that is a user-defined symbol already is left
/// alone.
CharacterTable add_alphabet(BpeDefinition& definition, const std::vector<char32_t>& alphabet) {
  CharacterTable ids;
  for (const char32_t character : alphabet) {
    std::string piece;
    core::append_utf8(piece, character);
    if (std::find(definition.pieces.begin(), definition.pieces.end(), piece) != definition.pieces.end()) continue;
    ids.set(character, static_cast<std::int32_t>(definition.pieces.size()));
    definition.pieces.push_back(piece);
  }
  return ids;
}

void check_size(const BpeDefinition& definition, std::size_t first_character, const LearnOptions& options) {
  const std::size_t characters = definition.pieces.size() - first_character;
  require(static_cast<std::size_t>(options.vocab_size) >= definition.pieces.size(), ErrorCode::kInvalidArgument,
          "a vocabulary of {} is too small: {} special tokens, {} bytes, {} user symbols and {} characters need at "
          "least {}; "
          "ask for more pieces or for less character coverage",
          options.vocab_size, options.special_tokens.size(), options.byte_fallback ? 256 : 0,
          options.user_symbols.size(), characters, definition.pieces.size());
}

/// Adds merges and pieces to a definition that ends with its alphabet.
class MergeLoop {
 public:
  MergeLoop(BpeDefinition& definition, std::size_t first_character, const LearnOptions& options)
      : definition_(definition),
        first_character_(static_cast<std::int32_t>(first_character)),
        wanted_(static_cast<std::size_t>(options.vocab_size)) {
    for (std::size_t id = 0; id < definition.pieces.size(); ++id)
      ids_.emplace(definition.pieces[id], static_cast<std::int32_t>(id));
  }

  void run(MergeLearner& learner, const core::ProgressSink& progress, const std::stop_token& stop) {
    for (std::size_t round = 0; definition_.pieces.size() < wanted_; ++round) {
      if (round % kReportInterval == 0) report(progress, stop);
      const auto best = learner.pop_best();
      if (!best) break;
      const std::int32_t result = result_of(*best);
      if (result < 0) continue;
      definition_.merges.push_back({best->left, best->right, result});
      learner.merge(*best, result);
    }
    report(progress, stop);
  }

 private:
  void report(const core::ProgressSink& progress, const std::stop_token& stop) const {
    require(!stop.stop_requested(), ErrorCode::kInterrupted, "interrupted while learning merges; nothing was written");
    core::report(progress, {.stage = "learn merges",
                            .done = definition_.pieces.size(),
                            .total = wanted_,
                            .unit = "pieces",
                            .figures = {}});
  }

  /// The piece that a merge makes, new or known; -1 if it would spell a special token, a byte piece or a user symbol.
  std::int32_t result_of(const MergeLearner::Pair& pair) {
    std::string text = definition_.pieces[static_cast<std::size_t>(pair.left)] +
                       definition_.pieces[static_cast<std::size_t>(pair.right)];
    const auto [found, is_new] = ids_.try_emplace(text, static_cast<std::int32_t>(definition_.pieces.size()));
    if (is_new) definition_.pieces.push_back(std::move(text));
    return found->second >= first_character_ ? found->second : -1;
  }

  BpeDefinition& definition_;
  std::int32_t first_character_;
  std::size_t wanted_;
  std::unordered_map<std::string, std::int32_t> ids_;
};

void warn_if_short(const BpeDefinition& definition, const LearnOptions& options, const core::LogSink& log) {
  if (definition.pieces.size() >= static_cast<std::size_t>(options.vocab_size)) return;
  core::log(
      log, core::LogLevel::kWarning,
      fmt::format(
          "the corpus holds no further pair that occurs {} times or more; the vocabulary has {} pieces instead of {}",
          std::max<std::uint64_t>(options.min_frequency, 1), definition.pieces.size(), options.vocab_size));
}

}  // namespace

BpeTokenizer learn_bpe(const std::vector<std::filesystem::path>& inputs, const LearnOptions& options,
                       const core::ProgressSink& progress, const core::LogSink& log, std::stop_token stop) {
  check_options(inputs, options);
  BpeDefinition definition;
  add_first_pieces(definition, options);
  add_text_steps(definition, options);

  ThreadArena arena(options.threads);
  LearningCorpus corpus(count_words(inputs, !options.word_marks, arena, progress, stop), definition, arena);
  require(corpus.distinct_words() > 0, ErrorCode::kBadInput, "{}{} no words to learn from", inputs.front().string(),
          inputs.size() > 1 ? fmt::format(" and {} further files hold", inputs.size() - 1) : std::string(" holds"));
  core::log(log, core::LogLevel::kInfo, fmt::format("{} distinct words", corpus.distinct_words()));

  const std::size_t first_character = definition.pieces.size();
  const CharacterTable ids = add_alphabet(definition, choose_alphabet(corpus.count_characters(), options));
  check_size(definition, first_character, options);

  MergeLearner learner(corpus.lay_out(ids), options.min_frequency);
  MergeLoop(definition, first_character, options).run(learner, progress, stop);
  warn_if_short(definition, options, log);
  return BpeTokenizer(std::move(definition), "learned vocabulary");
}

}  // namespace dragoman::tokenizer
