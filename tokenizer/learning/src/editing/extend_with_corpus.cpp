#include "base/characters.h"
#include "bpe/bpe_model.h"
#include "dragoman/tokenizer/vocabulary_editing.h"
#include "editing/vocabulary_subset.h"
#include "learning/alphabet.h"
#include "learning/learning_corpus.h"
#include "learning/merge_learner.h"
#include "pre_tokenizing/pre_tokenizer.h"
#include "pre_tokenizing/spaced_words.h"
#include "reading/collect_words.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

/// Returns whether splitting a text at its spaces and processing the parts separately gives the same words: each begins
/// with a mark that was its space, and no protected pattern depends on text beyond it.
bool spaces_part_words(const BpeDefinition& definition) {
  using Kind = NormalizerStep::Kind;
  const NormalizerSteps& steps = definition.normalizer();
  if (!definition.words_begin_at_marks() || steps.size() < 2) return false;
  for (const AddedToken& token : definition.added_tokens)
    if (!token.special && definition.pieces[static_cast<std::size_t>(token.id)].find(' ') != std::string::npos)
      return false;
  const NormalizerStep prepend{Kind::kPrepend, {}, kWordMark};
  const NormalizerStep replace{Kind::kReplace, " ", kWordMark};
  return steps[steps.size() - 2] == prepend && steps.back() == replace &&
         std::all_of(steps.begin(), steps.end() - 2, stays_within_words) &&
         PreTokenizer(definition).words_stand_alone();
}

/// The words of a corpus, encoded into the existing pieces.
class EncodedCorpus {
 public:
  /// The model must be built from `definition`.
  EncodedCorpus(const WordCounts& words, const BpeDefinition& definition, const BpeModel& model, ThreadArena& arena)
      : model_(model), words_(words.by_count(arena)) {
    fixed_.assign(definition.pieces.size(), false);
    for (std::size_t id = 0; id < fixed_.size(); ++id)
      fixed_[id] = definition.byte_fallback() && byte_of_piece(definition.pieces[id]);
    for (const AddedToken& token : definition.added_tokens) fixed_[static_cast<std::size_t>(token.id)] = true;
    if (definition.unknown) fixed_[static_cast<std::size_t>(*definition.unknown)] = true;
    blocks_.resize((words_.size() + kBlockWords - 1) / kBlockWords);
    arena.for_each(blocks_.size(), [&](std::size_t b) { encode(b); });
  }

  PairStatistics::Text lay_out() const {
    std::uint64_t cells = 1;
    double occurrences = 0;
    for (const Block& block : blocks_) {
      cells += block.cells.size();
      occurrences += block.occurrences;
    }
    check_corpus_size(cells, occurrences);
    PairStatistics::Text text;
    text.cells.reserve(cells);
    text.cells.push_back(PairStatistics::kBarrier);
    for (const Block& block : blocks_) {
      for (const auto& [begin, weight] : block.weights)
        if (text.weights.empty() || text.weights.back().weight != weight)
          text.weights.push_back({static_cast<std::uint32_t>(text.cells.size() + begin), weight});
      text.cells.insert(text.cells.end(), block.cells.begin(), block.cells.end());
    }
    return text;
  }

 private:
  static constexpr std::size_t kBlockWords = std::size_t{1} << 12;

  /// Consecutive words. The beginnings of stretches of equal weight are relative to the block's first cell.
  struct Block {
    std::vector<std::int32_t> cells;  ///< a barrier after each word
    std::vector<WordWeight> weights;
    double occurrences = 0;
  };

  void encode(std::size_t number) {
    Block& block = blocks_[number];
    WordBuffers buffers;
    const std::size_t end = std::min(words_.size(), (number + 1) * kBlockWords);
    for (std::size_t i = number * kBlockWords; i < end; ++i) {
      const std::size_t begin = block.cells.size();
      const auto weight = static_cast<std::int64_t>(words_[i].count);
      if (block.weights.empty() || block.weights.back().weight != weight)
        block.weights.push_back({static_cast<std::uint32_t>(begin), weight});
      model_.encode_word(words_[i].word, {}, buffers);
      // A whole word that is a piece without a rule has one cell. A later rule for the piece would make it longer.
      const bool has_pairs = buffers.word.size() > 1;
      for (const Symbol& symbol : buffers.word)
        block.cells.push_back(has_pairs && !fixed_[static_cast<std::size_t>(symbol.id)] ? symbol.id
                                                                                        : PairStatistics::kBarrier);
      block.cells.push_back(PairStatistics::kBarrier);
      block.occurrences += static_cast<double>(weight) * static_cast<double>(block.cells.size() - begin);
    }
  }

  const BpeModel& model_;
  std::vector<WordCount> words_;
  std::vector<bool> fixed_;  // by id: bytes, tokens and unknown pieces take no part in merges
  std::vector<Block> blocks_;
};

WordCounts count_pre_tokens(const BpeDefinition& definition, const std::vector<std::filesystem::path>& corpus,
                            const CorpusExtension& options, const MemoryPlan& plan, ThreadArena& arena,
                            const core::ProgressSink& progress, const std::stop_token& stop) {
  const WordSource source{.files = corpus,
                          .kind = WordSource::Kind::kTexts,
                          .whole_lines = !spaces_part_words(definition),
                          .invalid_utf8 = options.invalid_utf8};
  const CountedWords words = collect_words(source, plan, arena, progress, stop);
  return split_into_pre_tokens(words.in_memory, definition, arena);
}

/// Returns whether a character of the text is always one symbol, regardless of its neighbours.
bool has_characters(const BpeDefinition& definition) {
  return std::holds_alternative<CharacterText>(definition.text);
}

CharacterCounts count_characters(const WordCounts& words) {
  CharacterCounts counts;
  words.for_each([&](std::string_view word, std::uint64_t count) {
    for_each_character(word, false, [&](char32_t character, bool valid) {
      if (valid) counts.add(character, count);
    });
  });
  return counts;
}

/// Like learn_bpe() for all characters: sorted by falling count, then by code point.
void add_characters(const WordCounts& words, double coverage, BpeDefinition& definition) {
  const core::TextSet known(definition.pieces.begin(), definition.pieces.end());
  const auto counts = count_characters(words).take_sorted();
  for (const char32_t character : choose_alphabet(counts, coverage, std::nullopt)) {
    std::string piece;
    core::append_utf8(piece, character);
    if (!known.contains(piece)) definition.pieces.push_back(std::move(piece));
  }
}

void check_room(std::size_t old_pieces, const BpeDefinition& definition, std::int32_t size) {
  require(definition.pieces.size() <= static_cast<std::size_t>(size), ErrorCode::kInvalidArgument,
          "a vocabulary of {} is too small: {} pieces and {} new characters need at least {}; ask for more pieces or "
          "for less character coverage",
          size, old_pieces, definition.pieces.size() - old_pieces, definition.pieces.size());
}

}  // namespace

VocabularyEdit extend_with_corpus(const BpeDefinition& definition, const std::vector<std::filesystem::path>& corpus,
                                  const CorpusExtension& options, const core::ProgressSink& progress,
                                  const core::LogSink& log, const std::stop_token& stop) {
  check_editable(definition);
  require(!corpus.empty(), ErrorCode::kInvalidArgument, "there is no file to learn from");
  require(options.size > 0 && static_cast<std::size_t>(options.size) > definition.pieces.size(),
          ErrorCode::kInvalidArgument, "the vocabulary has {} pieces already; ask for more than that, not for {}",
          definition.pieces.size(), options.size);
  require(options.threads >= 0, ErrorCode::kInvalidArgument, "the number of threads is {}; it must not be negative",
          options.threads);
  check_coverage(options.character_coverage);
  VocabularyEdit edit{definition, std::vector<std::int32_t>(definition.pieces.size())};
  list_added_tokens(edit.definition);
  std::iota(edit.new_ids.begin(), edit.new_ids.end(), 0);
  const MemoryPlan plan = MemoryPlan::of(options.threads);
  ThreadArena arena(plan.threads);
  PairStatistics::Text text = [&] {
    const WordCounts pre_tokens = count_pre_tokens(definition, corpus, options, plan, arena, progress, stop);
    if (has_characters(definition)) add_characters(pre_tokens, options.character_coverage, edit.definition);
    check_room(definition.pieces.size(), edit.definition, options.size);
    const BpeModel model(edit.definition, "the vocabulary");
    return EncodedCorpus(pre_tokens, edit.definition, model, arena).lay_out();
  }();
  require(text.cells.size() > 1, ErrorCode::kBadInput, "{}: no words to learn from", corpus.front().string());
  const auto wanted = static_cast<std::size_t>(options.size);
  const auto division = PairStatistics::divide(text, arena, merges_up_to(wanted, edit.definition));
  PairStatistics statistics(std::move(text), options.min_frequency, arena, division);
  MergeLearner(edit.definition, wanted).run(statistics, progress, stop);
  warn_if_short(edit.definition, wanted, options.min_frequency, log);
  return edit;
}

}  // namespace dragoman::tokenizer
