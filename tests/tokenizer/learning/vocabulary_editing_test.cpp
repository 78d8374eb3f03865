#include "error_message.h"
#include "tokenizer_test_support.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/byte_pieces.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

namespace dragoman::tokenizer {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

BpeTokenizer learn_own(const LearnOptions& options) {
  return learn_bpe({testing::golden_file("corpus.txt")}, options);
}

TEST(TruncatedVocabulary, IsWhatLearningThatSizeGives) {
  LearnOptions options;
  options.user_symbols = {"<ph>", "th"};
  options.normalization = Normalization::kNfc;
  options.vocab_size = 650;
  const BpeTokenizer largest = learn_own(options);
  ASSERT_EQ(largest.size(), 650);
  for (options.vocab_size = 649; options.vocab_size > 420; options.vocab_size -= 17) {
    const VocabularyEdit edit = truncate(largest.definition(), options.vocab_size);
    ASSERT_EQ(BpeTokenizer(edit.definition).to_json(), learn_own(options).to_json()) << options.vocab_size;
  }
}

TEST(TruncatedVocabulary, IsWhatLearningThatSizeGivesDownToTheCharacters) {
  LearnOptions options{.min_frequency = 1, .special_tokens = {}, .byte_fallback = false, .word_marks = false};
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    std::string text = "ab\n";
    for (int i = 0; i < 40; ++i) text += testing::random_text(random, "ab", 12) + "a\n";
    options.vocab_size = 60;
    const BpeTokenizer largest = testing::learn_from(text, options);
    for (options.vocab_size = 2; options.vocab_size < largest.size(); ++options.vocab_size)
      ASSERT_EQ(BpeTokenizer(truncate(largest.definition(), options.vocab_size).definition).to_json(),
                testing::learn_from(text, options).to_json())
          << "seed " << seed << ", size " << options.vocab_size;
  }
}

TEST(TruncatedVocabulary, EndsWithTheMergeThatMakesTheLastPiece) {
  const BpeTokenizer twice = testing::make_plain_bpe("abc", {{"a", "b"}, {"ab", "c"}, {"b", "c"}, {"a", "bc"}});
  const VocabularyEdit edit = truncate(twice.definition(), 6);
  EXPECT_EQ(edit.definition.merges.size(), 3U) << "the fourth makes abc again, and learning would have stopped";
}

TEST(TruncatedVocabulary, MapsIdsToThemselvesAndTheRestToNothing) {
  const BpeTokenizer largest = learn_own({.vocab_size = 640});
  const VocabularyEdit edit = truncate(largest.definition(), 500);
  ASSERT_EQ(edit.new_ids.size(), 640U);
  for (std::int32_t id = 0; id < 640; ++id)
    EXPECT_EQ(edit.new_ids[static_cast<std::size_t>(id)], id < 500 ? id : kDroppedPiece);
}

TEST(TruncatedVocabulary, SaysWhichSizesArePossible) {
  const BpeTokenizer plain = testing::make_plain_bpe("abc", {{"a", "b"}});
  EXPECT_EQ(truncate(plain.definition(), 3).definition.pieces, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_THAT(error_of([&] { truncate(plain.definition(), 2); }), HasSubstr("from 3, which no merge makes, to 4"));
  EXPECT_THAT(error_of([&] { truncate(plain.definition(), 5); }), HasSubstr("cannot be cut to 5"));
}

TEST(TruncatedVocabulary, OfAnotherLayoutKeepsTheTokensBehindTheMerges) {
  // As in GPT-2's file, where <|endoftext|> has the last id.
  BpeDefinition definition = testing::make_plain_bpe("abc", {{"a", "b"}, {"ab", "c"}}).definition();
  definition.pieces.emplace_back("<end>");
  definition.added_tokens.push_back({.id = 5, .special = true});
  const VocabularyEdit edit = truncate(definition, 5);
  EXPECT_EQ(edit.definition.pieces, (std::vector<std::string>{"a", "b", "c", "ab", "<end>"}));
  EXPECT_EQ(edit.new_ids, (std::vector<std::int32_t>{0, 1, 2, 3, kDroppedPiece, 4}));
  EXPECT_EQ(edit.definition.added_tokens[0].id, 4);
}

TEST(SmallestVocabularySize, IsCheckedBeforeMergesAreLearned) {
  LearnOptions options{.vocab_size = 500, .smallest_vocab_size = 10};
  EXPECT_THAT(error_of([&] { learn_own(options); }), HasSubstr("a vocabulary of 10 is too small"));
  options.smallest_vocab_size = 501;
  EXPECT_THAT(error_of([&] { learn_own(options); }), HasSubstr("501"));
}

std::vector<std::string> own_lines() {
  std::vector<std::string> lines;
  core::LineReader reader(testing::golden_file("corpus.txt"));
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

std::set<std::string> own_words() {
  std::set<std::string> words;
  for (const std::string& line : own_lines())
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t end = std::min(line.find(' ', begin), line.size());
      if (begin < end) words.insert(line.substr(begin, end - begin));
      begin = end + 1;
    }
  return words;
}

std::vector<std::uint64_t> count_pieces(const Tokenizer& tokenizer, const std::vector<std::string>& lines) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(tokenizer.size()));
  for (const std::string& line : lines)
    for (const std::int32_t id : tokenizer.encode(line)) ++counts[static_cast<std::size_t>(id)];
  return counts;
}

std::string random_text(std::mt19937& random) {
  static const std::string parts[] = {" ",          "  ",   "the", "river",  "ing", "\u00E9", "\xFF",  "\xE2\x96", "\t",
                                      "\U0001F600", "<ph>", "der", "people", "x",   "q",      "<new>", "</s>"};
  std::string line;
  for (std::size_t n = random() % 12; n > 0; --n) line += parts[random() % std::size(parts)];
  return line;
}

void expect_same_spelling_and_order(const BpeDefinition& before, const VocabularyEdit& edit) {
  ASSERT_EQ(edit.new_ids.size(), before.pieces.size());
  std::int32_t last = -1;
  for (std::size_t id = 0; id < before.pieces.size(); ++id) {
    if (edit.new_ids[id] == kDroppedPiece) continue;
    EXPECT_GT(edit.new_ids[id], last);
    last = edit.new_ids[id];
    EXPECT_EQ(edit.definition.pieces[static_cast<std::size_t>(last)], before.pieces[id]);
  }
}

void expect_file_round_trip(const BpeDefinition& definition) {
  const std::string json = BpeTokenizer(definition).to_json();
  EXPECT_EQ(BpeTokenizer::parse(json, "again").to_json(), json);
}

/// BPE as the paper has it, over the merges of a definition whose pieces are all in `kept`.
std::vector<std::string> encode_with(const std::set<std::string>& kept, const BpeDefinition& definition,
                                     const std::string& word) {
  std::vector<std::string> symbols;
  for (std::size_t i = 0; i < word.size();) {
    const core::DecodedCharacter c = core::decode_utf8(word, i);
    if (c.valid && kept.contains(word.substr(i, c.length)))
      symbols.push_back(word.substr(i, c.length));
    else
      for (const char byte : word.substr(i, c.length))
        symbols.push_back(piece_of_byte(static_cast<unsigned char>(byte)));
    i += c.length;
  }
  const auto text = [&](std::int32_t id) { return definition.pieces[static_cast<std::size_t>(id)]; };
  for (bool merged = true; merged;) {
    merged = false;
    for (const Merge& merge : definition.merges) {
      if (!kept.contains(text(merge.left)) || !kept.contains(text(merge.right)) || !kept.contains(text(merge.result)))
        continue;
      for (std::size_t i = 0; i + 1 < symbols.size() && !merged; ++i)
        if (symbols[i] == text(merge.left) && symbols[i + 1] == text(merge.right)) {
          symbols[i] += symbols[i + 1];
          symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          merged = true;
        }
      if (merged) break;
    }
  }
  return symbols;
}

class PrunedVocabulary : public ::testing::TestWithParam<std::pair<std::uint64_t, bool>> {
 protected:
  PrunedVocabulary()
      : full_(learn_own({.vocab_size = 640})),
        edit_(prune(full_.definition(), count_pieces(full_, own_lines()),
                    {.min_count = GetParam().first, .drop_characters = GetParam().second})),
        pruned_(edit_.definition) {}

  BpeTokenizer full_;
  VocabularyEdit edit_;
  BpeTokenizer pruned_;
};

TEST_P(PrunedVocabulary, DropsPiecesAndKeepsTheSpellingAndOrderOfTheRest) {
  EXPECT_LT(pruned_.size(), full_.size());
  expect_same_spelling_and_order(full_.definition(), edit_);
  expect_file_round_trip(edit_.definition);
}

TEST_P(PrunedVocabulary, EncodesAsTheMergesOfKeptPiecesSay) {
  const std::set<std::string> kept(edit_.definition.pieces.begin(), edit_.definition.pieces.end());
  const std::set<std::string> words = own_words();
  ASSERT_GT(words.size(), 100U);
  for (const std::string& word : words)
    ASSERT_EQ(testing::pieces_of(pruned_, word), encode_with(kept, full_.definition(), kWordMark + word)) << word;
}

TEST_P(PrunedVocabulary, EncodesTextsOfKeptPiecesAsBefore) {
  std::size_t same = 0;
  for (const std::string& word : own_words()) {
    std::vector<std::int32_t> expected;
    for (const std::int32_t id : full_.encode(word)) expected.push_back(edit_.new_ids[static_cast<std::size_t>(id)]);
    if (std::ranges::find(expected, kDroppedPiece) != expected.end()) continue;
    ++same;
    ASSERT_EQ(pruned_.encode(word), expected) << word;
  }
  EXPECT_GT(same, 0U);
}

TEST_P(PrunedVocabulary, DecodesToTheSameText) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random_text(random);
    ASSERT_EQ(pruned_.decode(pruned_.encode(text)), full_.decode(full_.encode(text))) << text;
  }
}

TEST_P(PrunedVocabulary, KeepsWhatIsUsedOftenEnough) {
  const std::vector<std::uint64_t> counts = count_pieces(full_, own_lines());
  for (std::size_t id = 0; id < counts.size(); ++id)
    EXPECT_TRUE(counts[id] < GetParam().first || edit_.new_ids[id] != kDroppedPiece)
        << full_.piece(static_cast<std::int32_t>(id));
}

INSTANTIATE_TEST_SUITE_P(Counts, PrunedVocabulary,
                         ::testing::Values(std::pair{3U, false}, std::pair{5U, false}, std::pair{3U, true}),
                         [](const auto& given) {
                           return fmt::format("least_{}{}", given.param.first,
                                              given.param.second ? "_drops_characters" : "");
                         });

TEST(Pruning, KeepsWhatAKeptPieceIsMadeOf) {
  const BpeTokenizer plain = testing::make_plain_bpe("abcd", {{"a", "b"}, {"ab", "c"}, {"c", "d"}});
  // a b c d ab abc cd; abc is used, ab never is by itself.
  const VocabularyEdit edit =
      prune(plain.definition(), std::vector<std::uint64_t>{9, 9, 9, 9, 0, 5, 4}, {.min_count = 5});
  EXPECT_EQ(edit.definition.pieces, (std::vector<std::string>{"a", "b", "c", "d", "ab", "abc"}));
  EXPECT_EQ(edit.definition.merges.size(), 2U);
  EXPECT_EQ(id_map_lines(edit), "0\t0\n1\t1\n2\t2\n3\t3\n4\t4\n5\t5\n6\t-\n");
}

TEST(Pruning, OfTwoWaysToMakeAPieceKeepsTheOneThatIsUsed) {
  // abc is always made as a + bc, since (b, c) goes before (a, b).
  const BpeTokenizer plain = testing::make_plain_bpe("abc", {{"b", "c"}, {"a", "bc"}, {"a", "b"}, {"ab", "c"}});
  ASSERT_EQ(plain.definition().pieces, (std::vector<std::string>{"a", "b", "c", "bc", "abc", "ab"}));
  const VocabularyEdit edit = prune(plain.definition(), std::vector<std::uint64_t>{0, 0, 0, 0, 1, 0});
  EXPECT_EQ(edit.definition.pieces, (std::vector<std::string>{"a", "b", "c", "bc", "abc"}));
}

TEST(Pruning, RefusesWhatItCannotDo) {
  const BpeTokenizer plain = testing::make_plain_bpe("abc", {{"a", "b"}});
  EXPECT_THAT(error_of([&] { prune(plain.definition(), std::vector<std::uint64_t>{1}); }), HasSubstr("1 counts for 4"));
  EXPECT_THAT(error_of([&] { prune(plain.definition(), std::vector<std::uint64_t>(4), {.drop_characters = true}); }),
              HasSubstr("byte fallback"));
  BpeDefinition separate = plain.definition();
  separate.text = SuffixedText{.codes = Codes{.separate_suffix = true}};
  EXPECT_THAT(error_of([&] { prune(separate, std::vector<std::uint64_t>(4)); }), HasSubstr("version 0.1"));
}

TEST(ExtendedVocabulary, KeepsAllIdsAndIsLosslessAroundNewSymbols) {
  const BpeTokenizer before = learn_own({.vocab_size = 640});
  const VocabularyEdit edit = extend(before.definition(), {"<2de>"}, {"<ph>", "<new>"});
  const BpeTokenizer after(edit.definition);
  EXPECT_EQ(after.size(), 643);
  EXPECT_EQ(after.id("<2de>"), 640);
  EXPECT_TRUE(after.is_special(640));
  EXPECT_EQ(after.id("<new>"), 642);
  EXPECT_FALSE(after.is_special(642));
  expect_same_spelling_and_order(before.definition(), edit);
  expect_file_round_trip(edit.definition);
  std::mt19937 random(2);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random_text(random);
    ASSERT_EQ(after.decode(after.encode(text)), text);
    const bool has_symbol = text.find("<ph>") != std::string::npos || text.find("<new>") != std::string::npos;
    const std::vector<std::int32_t> ids = after.encode(text);
    ASSERT_EQ(ids == before.encode(text), !has_symbol) << text;
    ASSERT_EQ(std::ranges::any_of(ids, [](std::int32_t id) { return id > 640; }), has_symbol) << text;
  }
}

TEST(ExtendedVocabulary, OfBytesIsLosslessToo) {
  const BpeTokenizer before = BpeTokenizer::load(testing::golden_file("byte_level_plain.tokenizer.json"));
  const BpeTokenizer after(extend(before.definition(), {}, {"<ph>", "<new>"}).definition);
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random);
    ASSERT_EQ(after.decode(after.encode(text)), before.decode(before.encode(text)));
  }
}

TEST(ExtendedVocabulary, RefusesTokensThatMeanSomethingAlready) {
  const BpeTokenizer plain = learn_own({.vocab_size = 640});
  EXPECT_THAT(error_of([&] { extend(plain.definition(), {}, {"e"}); }), HasSubstr("'e' is a piece"));
  EXPECT_THAT(error_of([&] { extend(plain.definition(), {"</s>"}, {}); }), HasSubstr("'</s>' is a piece"));
  EXPECT_THAT(error_of([&] { extend(plain.definition(), {"<x>"}, {"<x>"}); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([&] { extend(plain.definition(), {"a b"}, {}); }), HasSubstr("holds a space"));
}

TEST(ExtendedVocabulary, SymbolsMayHoldSpaces) {
  const BpeTokenizer plain = learn_own({.vocab_size = 640});
  const BpeTokenizer after(extend(plain.definition(), {}, {"New York"}).definition);
  EXPECT_THAT(testing::pieces_of(after, "in New York"), ::testing::Contains("New York"));
  EXPECT_EQ(after.decode(after.encode("in New York and New  York")), "in New York and New  York");
}

/// One vocabulary of the first half of the lines and one of the second.
std::pair<BpeTokenizer, BpeTokenizer> learn_halves() {
  std::string halves[2];
  const std::vector<std::string> lines = own_lines();
  for (std::size_t i = 0; i < lines.size(); ++i) halves[i * 2 / lines.size()] += lines[i] + "\n";
  LearnOptions options{.vocab_size = 520};
  BpeTokenizer first = testing::learn_from(halves[0], options);
  options.user_symbols = {"<ph>"};
  return {std::move(first), testing::learn_from(halves[1], options)};
}

TEST(MergedVocabularies, HoldThePiecesAndMergesOfBoth) {
  const auto [first, second] = learn_halves();
  const VocabularyEdit edit = merge_vocabularies(first.definition(), second.definition());
  for (std::int32_t id = 0; id < first.size(); ++id)
    ASSERT_EQ(edit.definition.pieces[static_cast<std::size_t>(id)], first.piece(id));
  const std::set<std::string> all(edit.definition.pieces.begin(), edit.definition.pieces.end());
  EXPECT_EQ(all.size(), edit.definition.pieces.size());
  std::set<std::string> expected(first.definition().pieces.begin(), first.definition().pieces.end());
  expected.insert(second.definition().pieces.begin(), second.definition().pieces.end());
  EXPECT_EQ(all, expected);
  EXPECT_GT(edit.definition.pieces.size(), static_cast<std::size_t>(first.size()));
  for (std::int32_t id = 0; id < second.size(); ++id)
    ASSERT_EQ(edit.definition.pieces[static_cast<std::size_t>(edit.new_ids[static_cast<std::size_t>(id)])],
              second.piece(id));
  expect_file_round_trip(edit.definition);
}

TEST(MergedVocabularies, JoinPiecesOfTheFirstAndNeverCutThem) {
  const auto [first, second] = learn_halves();
  const BpeTokenizer merged(merge_vocabularies(first.definition(), second.definition()).definition);
  std::size_t fewer = 0;
  for (const std::string& line : own_lines()) {
    std::set<std::size_t> cuts;
    for (const Piece& piece : first.encode_pieces(line)) cuts.insert(piece.end);
    const std::vector<Piece> pieces = merged.encode_pieces(line);
    for (const Piece& piece : pieces) ASSERT_TRUE(cuts.contains(piece.end)) << line;
    fewer += pieces.size() < first.encode(line).size() ? 1 : 0;
    ASSERT_EQ(merged.decode(merged.encode(line)), line);
  }
  EXPECT_GT(fewer, 0U);
}

TEST(MergedVocabularies, WithItselfAVocabularyIsItself) {
  const BpeTokenizer own = learn_own({.vocab_size = 500});
  EXPECT_EQ(BpeTokenizer(merge_vocabularies(own.definition(), own.definition()).definition).to_json(), own.to_json());
}

TEST(MergedVocabularies, MustTreatTextAlike) {
  const BpeTokenizer plain = learn_own({.vocab_size = 500});
  const auto error_with = [&](const LearnOptions& options) {
    const BpeTokenizer other = learn_own(options);
    return error_of([&] { merge_vocabularies(plain.definition(), other.definition()); });
  };
  EXPECT_THAT(error_with({.vocab_size = 500, .normalization = Normalization::kNfc}), HasSubstr("normalisers"));
  EXPECT_THAT(error_with({.vocab_size = 500, .byte_fallback = false}), HasSubstr("bytes"));
  EXPECT_THAT(error_with({.vocab_size = 500, .special_tokens = {"<s>"}}), HasSubstr("unknown"));
  EXPECT_THAT(error_with({.vocab_size = 500, .user_symbols = {"e"}}), HasSubstr("'e'"));
}

TEST(PrunedVocabulary, KeepsTheMarkThatMetaspaceWrites) {
  BpeDefinition definition;
  for (int byte = 0; byte < 256; ++byte) definition.pieces.push_back(piece_of_byte(static_cast<unsigned char>(byte)));
  for (const char* character : {kWordMark, "a", "b"}) definition.pieces.emplace_back(character);
  definition.text = CharacterText{
      .pre_tokenizer = Metaspace(), .byte_fallback = true, .decoder = DecoderSteps{.byte_fallback = true}};
  const std::vector<std::uint64_t> counts(definition.pieces.size(), 0);
  const VocabularyEdit edit = prune(definition, counts, {.drop_characters = true});
  EXPECT_EQ(edit.definition.pieces.size(), 257U);
  EXPECT_EQ(edit.definition.pieces.back(), kWordMark);
}

}  // namespace
}  // namespace dragoman::tokenizer
