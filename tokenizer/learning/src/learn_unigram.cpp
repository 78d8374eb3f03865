#include "dragoman/tokenizer/learn_unigram.h"

#include "interruption.h"
#include "learning/seed_pieces.h"
#include "learning/unigram_learner.h"
#include "piece_rules.h"
#include "sentencepiece_corpus.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

using Type = UnigramPiece::Type;

/// One call of learning.
class UnigramLearning {
 public:
  UnigramLearning(const WordSource& source, const LearnUnigramOptions& options, const core::ProgressSink& progress,
                  const core::LogSink& log, const std::stop_token& stop)
      : source_(source),
        options_(options),
        progress_(progress),
        log_(log),
        stop_(stop),
        plan_(MemoryPlan::of(options.threads)),
        arena_(plan_.threads) {}

  UnigramDefinition run() {
    add_given_pieces();
    SentencePieceCorpus corpus(source_, options_, reserved_, plan_, arena_, progress_, stop_);
    const UnigramWords words = corpus.read();
    learn(words, corpus.alphabet());
    return std::move(definition_);
  }

 private:
  void add_given_pieces() {
    definition_.pieces = given_pieces(options_);
    definition_.byte_fallback = options_.byte_fallback;
    const SentencePieceNormalization& d = options_.normalization;
    definition_.normalizer_name = d.name;
    definition_.character_map = d.character_map;
    definition_.dummy_prefix = d.dummy_prefix;
    definition_.remove_extra_spaces = d.remove_extra_spaces;
    definition_.escape_spaces = d.escape_spaces;
    definition_.space_as_suffix = d.space_as_suffix;
    for (const UnigramPiece& piece : definition_.pieces) reserved_.push_back(piece.text);
  }

  static std::vector<std::uint64_t> count_symbols(const UnigramWords& words, std::size_t characters) {
    std::vector<std::uint64_t> counts(characters + 1);
    for (std::size_t i = 0; i < words.size(); ++i)
      for (const UnigramSymbol symbol : words[i]) counts[symbol] += words.counts[i];
    return counts;
  }

  void learn(const UnigramWords& words, const std::vector<char32_t>& alphabet) {
    const PieceRules rules(options_, alphabet, reserved_);
    auto substrings = frequent_substrings(
        words, static_cast<std::size_t>(options_.max_piece_length),
        [&](std::span<const UnigramSymbol> symbols) { return rules.is_valid(symbols); }, arena_, stop_);
    auto seeds = seed_pieces(words, std::move(substrings), static_cast<std::size_t>(options_.seed_size),
                             count_symbols(words, alphabet.size()));
    core::log(log_, core::LogLevel::kInfo,
              fmt::format("{} characters and {} seed pieces", alphabet.size(), seeds.size() - alphabet.size()));
    const std::size_t given = definition_.pieces.size();
    const auto wanted = static_cast<std::size_t>(options_.vocab_size) - given;
    UnigramLearner learner(
        words, std::move(seeds),
        {.wanted = wanted, .shrinking_factor = options_.shrinking_factor, .sub_iterations = options_.sub_iterations},
        arena_, stop_);
    auto pieces = learner.run([&](std::size_t size, double log_likelihood) {
      check_not_stopped(stop_);
      core::report(progress_, {.stage = "learn pieces",
                               .done = size + given,
                               .total = 0,
                               .unit = "pieces",
                               .figures = {{"nats/character", -log_likelihood}}});
    });
    add_learned(rules, pieces);
  }

  void add_learned(const PieceRules& rules, const std::vector<LearnedPiece>& pieces) {
    std::vector<UnigramPiece> learned;
    for (const LearnedPiece& piece : pieces)
      learned.push_back({rules.text_of(piece.symbols), static_cast<float>(piece.score), Type::kNormal});
    std::ranges::sort(learned, [](const UnigramPiece& a, const UnigramPiece& b) {
      return a.score != b.score ? a.score > b.score : a.text < b.text;
    });
    std::ranges::move(learned, std::back_inserter(definition_.pieces));
    if (definition_.pieces.size() < static_cast<std::size_t>(options_.vocab_size))
      core::log(log_, core::LogLevel::kWarning,
                fmt::format("the corpus gives no further pieces; the vocabulary has {} instead of {}",
                            definition_.pieces.size(), options_.vocab_size));
  }

  const WordSource& source_;
  const LearnUnigramOptions& options_;
  const core::ProgressSink& progress_;
  const core::LogSink& log_;
  const std::stop_token& stop_;
  MemoryPlan plan_;
  ThreadArena arena_;
  UnigramDefinition definition_;
  std::vector<std::string> reserved_;  // texts of special tokens, symbols and bytes
};

UnigramDefinition learn_from(const std::vector<std::filesystem::path>& files, WordSource::Kind kind,
                             const LearnUnigramOptions& given, const core::ProgressSink& progress,
                             const core::LogSink& log, const std::stop_token& stop) {
  check_unigram_options(files, given);
  const LearnUnigramOptions options = complete_options(given);
  const WordSource source = word_source(files, kind, options, log);
  return UnigramLearning(source, options, progress, log, stop).run();
}

}  // namespace

UnigramDefinition learn_unigram(const std::vector<std::filesystem::path>& inputs, const LearnUnigramOptions& options,
                                const core::ProgressSink& progress, const core::LogSink& log, std::stop_token stop) {
  return learn_from(inputs, WordSource::Kind::kTexts, options, progress, log, stop);
}

UnigramDefinition learn_unigram_from_counts(const std::vector<std::filesystem::path>& counts,
                                            const LearnUnigramOptions& options, const core::ProgressSink& progress,
                                            const core::LogSink& log, std::stop_token stop) {
  return learn_from(counts, WordSource::Kind::kCounts, options, progress, log, stop);
}

}  // namespace dragoman::tokenizer
