#include "dragoman/tokenizer/learn_sentencepiece_bpe.h"

#include "learning/learning_corpus.h"
#include "learning/merge_learner.h"
#include "merging/ranked_pieces.h"
#include "piece_rules.h"
#include "sentencepiece/sentencepiece_model.h"
#include "sentencepiece_corpus.h"

#include <algorithm>
#include <string>
#include <utility>

#include <dragoman/core/hash_tables.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

/// The count from which a pair is merged, as in spm_train.
constexpr std::uint64_t kMinBpeFrequency = 1;

using Model = SentencePieceModel;

std::ptrdiff_t count_of_characters(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

/// One call of learning.
class SentencePieceBpeLearning {
 public:
  SentencePieceBpeLearning(const WordSource& source, const LearnUnigramOptions& options,
                           const core::ProgressSink& progress, const core::LogSink& log, const std::stop_token& stop)
      : options_(options),
        progress_(progress),
        log_(log),
        stop_(stop),
        plan_(MemoryPlan::of(options.threads)),
        arena_(plan_.threads),
        given_(given_pieces(options)),
        corpus_(source, options, reserved_, plan_, arena_, progress, stop) {
    for (const UnigramPiece& piece : given_) reserved_.push_back(piece.text);
  }

  std::string run() {
    PairStatistics::Text text = lay_out(corpus_.read());
    const PieceRules rules(options_, corpus_.alphabet(), reserved_);
    add_first_pieces(rules);
    const auto wanted = static_cast<std::size_t>(options_.vocab_size);
    const auto division = PairStatistics::divide(text, arena_, merges_up_to(wanted, definition_));
    PairStatistics statistics(std::move(text), kMinBpeFrequency, arena_, division,
                              [this](const auto& a, const auto& b) { return precedes(a, b); });
    const auto longest = std::min(static_cast<std::size_t>(options_.max_piece_length), kLongestMergedPiece);
    // spm_train does not merge a pair that spells a piece which another pair has produced.
    core::TextSet merged;
    MergeLearner(definition_, wanted, longest, [&](std::string_view piece) {
      return rules.is_valid(symbols_of(piece)) && merged.emplace(piece).second;
    }).run(statistics, progress_, stop_);
    warn_if_short(definition_, wanted, kMinBpeFrequency, log_);
    return serialize(model());
  }

 private:
  /// The order of spm_train for pairs of equal count: the shorter result in characters, then its bytes.
  bool precedes(const PairStatistics::Pair& a, const PairStatistics::Pair& b) const {
    const auto text_of = [this](const PairStatistics::Pair& pair) {
      return definition_.pieces[static_cast<std::size_t>(pair.left)] +
             definition_.pieces[static_cast<std::size_t>(pair.right)];
    };
    const std::string first = text_of(a), second = text_of(b);
    const auto first_length = count_of_characters(first), second_length = count_of_characters(second);
    if (first_length != second_length) return first_length < second_length;
    if (first != second) return first < second;
    return std::pair(a.left, a.right) < std::pair(b.left, b.right);
  }

  /// The symbols of merging are ids of the definition: the given pieces, then the characters.
  std::int32_t id_of(UnigramSymbol symbol) const { return static_cast<std::int32_t>(given_.size() + symbol - 1); }

  PairStatistics::Text lay_out(const UnigramWords& words) const {
    PairStatistics::Text text;
    text.cells.push_back(PairStatistics::kBarrier);
    double occurrences = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto weight = static_cast<std::int64_t>(words.counts[i]);
      if (text.weights.empty() || text.weights.back().weight != weight)
        text.weights.push_back({static_cast<std::uint32_t>(text.cells.size()), weight});
      for (const UnigramSymbol symbol : words[i]) text.cells.push_back(id_of(symbol));
      text.cells.push_back(PairStatistics::kBarrier);
      occurrences += static_cast<double>(weight) * static_cast<double>(words[i].size() + 1);
    }
    check_corpus_size(text.cells.size(), occurrences);
    return text;
  }

  void add_first_pieces(const PieceRules& rules) {
    for (std::size_t id = 0; id < given_.size(); ++id) {
      definition_.pieces.push_back(given_[id].text);
      definition_.added_tokens.push_back({.id = static_cast<std::int32_t>(id), .special = false});
    }
    for (std::size_t symbol = 1; symbol <= corpus_.alphabet().size(); ++symbol)
      definition_.pieces.push_back(rules.text_of(std::vector{static_cast<std::uint32_t>(symbol)}));
  }

  std::vector<std::uint32_t> symbols_of(std::string_view piece) const {
    std::vector<std::uint32_t> symbols;
    for (std::size_t at = 0; at < piece.size();) {
      const core::DecodedCharacter character = core::decode_utf8(piece, at);
      symbols.push_back(static_cast<std::uint32_t>(corpus_.symbols().find(character.code_point)));
      at += character.length;
    }
    return symbols;
  }

  Model model() const {
    const SentencePieceNormalization& d = options_.normalization;
    Model model;
    model.model_type = Model::kBpe;
    model.byte_fallback = options_.byte_fallback;
    model.space_as_suffix = d.space_as_suffix;
    model.normalizer_name = d.name;
    model.character_map = d.character_map;
    model.dummy_prefix = d.dummy_prefix;
    model.remove_extra_spaces = d.remove_extra_spaces;
    model.escape_spaces = d.escape_spaces;
    for (const UnigramPiece& piece : given_)
      model.pieces.push_back({piece.text, 0, static_cast<std::uint64_t>(piece.type)});
    const auto first_character = definition_.pieces.begin() + static_cast<std::ptrdiff_t>(given_.size());
    const auto first_merged = first_character + static_cast<std::ptrdiff_t>(corpus_.alphabet().size());
    const auto add = [&](const std::string& text) {
      model.pieces.push_back({text, -static_cast<float>(model.pieces.size() - given_.size()), Model::kNormal});
    };
    std::for_each(first_merged, definition_.pieces.end(), add);
    std::for_each(first_character, first_merged, add);
    check_library_opens(model);
    return model;
  }

  const LearnUnigramOptions& options_;
  const core::ProgressSink& progress_;
  const core::LogSink& log_;
  const std::stop_token& stop_;
  MemoryPlan plan_;
  ThreadArena arena_;
  std::vector<UnigramPiece> given_;
  std::vector<std::string> reserved_;  // the texts of the given pieces
  SentencePieceCorpus corpus_;
  BpeDefinition definition_;
};

}  // namespace

std::string learn_sentencepiece_bpe(const std::vector<std::filesystem::path>& inputs, const LearnUnigramOptions& given,
                                    const core::ProgressSink& progress, const core::LogSink& log,
                                    std::stop_token stop) {
  check_unigram_options(inputs, given);
  const LearnUnigramOptions options = complete_options(given);
  const WordSource source = word_source(inputs, WordSource::Kind::kTexts, options, log);
  return SentencePieceBpeLearning(source, options, progress, log, stop).run();
}

}  // namespace dragoman::tokenizer
