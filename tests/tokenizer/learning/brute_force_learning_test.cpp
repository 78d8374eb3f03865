#include "test_names.h"
#include "tokenizer_test_support.h"

#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/byte_pieces.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

using Word = std::vector<std::int32_t>;
using PairId = std::pair<std::int32_t, std::int32_t>;

/// The definition of the learner in its plainest form: every count is taken anew before every merge.
class BruteForceLearner {
 public:
  BruteForceLearner(const std::string& text, const LearnOptions& options) : options_(options) {
    pieces_ = options.special_tokens;
    for (int byte = 0; byte < 256 && options.byte_fallback; ++byte)
      pieces_.push_back(piece_of_byte(static_cast<unsigned char>(byte)));
    forbidden_ = pieces_.size();
    add_alphabet(words_of(text));
  }

  void learn() {
    while (pieces_.size() < static_cast<std::size_t>(options_.vocab_size)) {
      const auto counts = count_pairs();
      const PairId best = best_of(counts);
      if (best.first < 0) return;
      const std::string text =
          pieces_[static_cast<std::size_t>(best.first)] + pieces_[static_cast<std::size_t>(best.second)];
      auto found = std::find(pieces_.begin(), pieces_.end(), text);
      if (found - pieces_.begin() < static_cast<std::ptrdiff_t>(forbidden_)) {
        refused_.push_back(best);
        continue;
      }
      if (found == pieces_.end()) found = pieces_.insert(found, text);
      merges_.push_back({best.first, best.second, static_cast<std::int32_t>(found - pieces_.begin())});
      for (auto& [word, count] : words_) apply(merges_.back(), word);
    }
  }

  const std::vector<std::string>& pieces() const { return pieces_; }
  const std::vector<Merge>& merges() const { return merges_; }

 private:
  std::vector<std::string> words_of(const std::string& text) const {
    std::vector<std::string> words;
    std::stringstream lines(text);
    for (std::string word; std::getline(lines, word, '\n');) {
      std::stringstream parts(word);
      if (options_.spaces_apart) {
        add_parts_and_spaces(word, words);
        continue;
      }
      if (!options_.word_marks) {
        if (!word.empty()) words.push_back(word);
        continue;
      }
      for (std::string part; std::getline(parts, part, ' ');)
        if (!part.empty()) words.push_back(kWordMark + part);
    }
    return words;
  }

  static void add_parts_and_spaces(const std::string& line, std::vector<std::string>& words) {
    bool apart = true;
    for (const char c : line) {
      if (apart || c == ' ') words.emplace_back();
      words.back() += c == ' ' ? kWordMark : std::string(1, c);
      apart = c == ' ';
    }
  }

  static std::vector<std::string> characters_of(const std::string& word) {
    std::vector<std::string> characters;
    for (std::size_t i = 0; i < word.size();) {
      const std::size_t length = core::decode_utf8(word, i).length;
      characters.push_back(word.substr(i, length));
      i += length;
    }
    return characters;
  }

  void add_alphabet(const std::vector<std::string>& words) {
    std::map<std::string, std::int64_t> counts;  // UTF-8 sorts by code point
    for (const std::string& word : words)
      for (const std::string& character : characters_of(word)) ++counts[character];
    std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [character, count] : sorted) pieces_.push_back(character);
    std::map<Word, std::int64_t> ids;
    for (const std::string& word : words) {
      Word symbols;
      for (const std::string& character : characters_of(word))
        symbols.push_back(
            static_cast<std::int32_t>(std::find(pieces_.begin(), pieces_.end(), character) - pieces_.begin()));
      ++ids[symbols];
    }
    words_.assign(ids.begin(), ids.end());
  }

  std::map<PairId, std::int64_t> count_pairs() const {
    std::map<PairId, std::int64_t> counts;
    for (const auto& [word, count] : words_)
      for (const PairId& pair : pairs_in(word)) counts[pair] += count;
    return counts;
  }

  /// Neighbours; in a run of equal symbols, without overlap from the left.
  static std::vector<PairId> pairs_in(const Word& word) {
    std::vector<PairId> pairs;
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      std::size_t run = 0;
      while (run <= i && word[i - run] == word[i]) ++run;
      if (word[i] == word[i + 1] && run % 2 == 0) continue;
      pairs.emplace_back(word[i], word[i + 1]);
    }
    return pairs;
  }

  PairId best_of(const std::map<PairId, std::int64_t>& counts) const {
    PairId best{-1, -1};
    std::int64_t most = static_cast<std::int64_t>(std::max<std::uint64_t>(1, options_.min_frequency)) - 1;
    for (const auto& [pair, count] : counts) {  // by left id, then right id: the first of equals wins
      if (count <= most || std::find(refused_.begin(), refused_.end(), pair) != refused_.end()) continue;
      best = pair;
      most = count;
    }
    return best;
  }

  static void apply(const Merge& merge, Word& word) {
    Word merged;
    for (std::size_t i = 0; i < word.size(); ++i) {
      const bool matches = i + 1 < word.size() && word[i] == merge.left && word[i + 1] == merge.right;
      merged.push_back(matches ? merge.result : word[i]);
      i += matches ? 1 : 0;
    }
    word = merged;
  }

  LearnOptions options_;
  std::vector<std::string> pieces_;
  std::size_t forbidden_;
  std::vector<std::pair<Word, std::int64_t>> words_;
  std::vector<Merge> merges_;
  std::vector<PairId> refused_;
};

struct Corpus {
  std::string_view alphabet;
  std::size_t max_word;
  std::size_t words;
  std::int32_t new_pieces;
};

std::string test_name(const Corpus& corpus) {
  return fmt::format("letters {} words of {}", corpus.alphabet == "aabb<>" ? "aabb_marks" : corpus.alphabet,
                     corpus.max_word);
}

class LearnerAgainstBruteForce : public ::testing::TestWithParam<Corpus> {};

std::string random_corpus(std::mt19937& random, const Corpus& corpus) {
  std::string text;
  for (std::size_t i = 0; i < corpus.words; ++i)
    text += testing::random_text(random, corpus.alphabet, corpus.max_word) + (random() % 5 == 0 ? "\n" : " ");
  return text;
}

void expect_equal(const std::string& text, const LearnOptions& options) {
  BruteForceLearner expected(text, options);
  expected.learn();
  const BpeTokenizer learned = testing::learn_from(text, options);
  ASSERT_EQ(learned.definition().merges, expected.merges()) << text;
  ASSERT_EQ(learned.definition().pieces, expected.pieces()) << text;
}

TEST_P(LearnerAgainstBruteForce, SamePiecesAndMerges) {
  const Corpus& corpus = GetParam();
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    const std::string text = random_corpus(random, corpus) + corpus.alphabet.data();  // every character occurs
    for (const auto& [marks, apart] : {std::pair(true, false), {false, false}, {false, true}}) {
      for (const std::uint64_t min_frequency : {1, 2, 4}) {
        LearnOptions options;
        options.special_tokens = {"<unk>", "ab", "aab"};
        options.byte_fallback = seed % 2 == 0;
        options.word_marks = marks;
        options.spaces_apart = apart;
        options.min_frequency = min_frequency;
        options.threads = 1;
        const std::int32_t first = options.byte_fallback ? 259 : 3;
        options.vocab_size = first + 12 + corpus.new_pieces;
        expect_equal(text, options);
      }
    }
  }
}

// Few letters and long words make runs, shared strings and refused merges common; many letters make ties common.
INSTANTIATE_TEST_SUITE_P(Corpora, LearnerAgainstBruteForce,
                         ::testing::Values(Corpus{"a", 30, 10, 40}, Corpus{"ab", 25, 25, 60}, Corpus{"abc", 12, 60, 60},
                                           Corpus{"aaaab", 40, 12, 60}, Corpus{"abcdefgh", 6, 120, 60},
                                           Corpus{"aabb<>", 20, 30, 60}),
                         dragoman::testing::kParameterName);

}  // namespace
}  // namespace dragoman::tokenizer
