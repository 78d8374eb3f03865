#include "learning/learn_within.h"
#include "learning/spilled_corpus.h"
#include "targets/count_lines_harness.h"
#include "test_data.h"
#include "tokenizer_test_support.h"

#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/count_words.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;
using Counts = std::map<std::string, std::uint64_t>;

/// Words as they come from outside: short and long, with tabs, marks, CR inside and before LF, bytes that are not
/// UTF-8, NUL, runs of spaces, empty lines. `distinct` says how many there are to choose from.
std::string corpus_text(unsigned seed, std::size_t words, std::size_t distinct) {
  std::mt19937 random(seed);
  std::vector<std::string> lexicon(distinct);
  for (std::string& word : lexicon) {
    const std::size_t length = 1 + random() % (random() % 8 == 0 ? 45 : 11);
    while (word.size() < length) {
      constexpr std::array kRare = {"\t", "\r", "\xE2\x96\x81", "\xFF", "\xC3\xA9", "E", "e\xCC\x81"};
      word += random() % 25 == 0 ? std::string(kRare[random() % kRare.size()])
                                 : std::string(1, static_cast<char>('a' + random() % 5));
    }
    if (random() % 50 == 0) word += '\0';
  }
  std::string text;
  for (std::size_t i = 0; i < words; ++i) {
    text += lexicon[random() % (1 + random() % distinct)];
    constexpr std::array kEnds = {" ", " ", " ", " ", "  ", "\n", "\r\n", "\n\n"};
    text += kEnds[random() % kEnds.size()];
  }
  return text;
}

Counts count_like_a_map(const std::string& text) {
  Counts counts;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ' ' && text[i] != '\n') {
      word += text[i];
      continue;
    }
    if (i < text.size() && text[i] == '\n' && word.ends_with('\r')) word.pop_back();
    if (!word.empty()) ++counts[word];
    word.clear();
  }
  return counts;
}

/// std::map sorts strings by their bytes, as unsigned characters.
std::string count_file_of(const Counts& counts, std::uint64_t min_count = 1) {
  std::string file;
  for (const auto& [word, count] : counts)
    if (count >= min_count) file += std::to_string(count) + "\t" + word + "\n";
  return file;
}

class CountWordsTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) {
    core::write_file(folder_ / name, content);
    return folder_ / name;
  }
  std::string counted(const std::vector<std::filesystem::path>& inputs, const CountOptions& options = {}) {
    core::OutputFile output(folder_ / "counts");
    count_words(inputs, output, options);
    output.commit();
    return core::read_file(folder_ / "counts");
  }
  std::string merged(const std::vector<std::filesystem::path>& counts, const CountOptions& options = {}) {
    core::OutputFile output(folder_ / "merged");
    merge_counts(counts, output, options);
    output.commit();
    return core::read_file(folder_ / "merged");
  }
  std::string error_of_counts(const std::string& content) {
    const auto file = write("bad.counts", content);
    try {
      merged({file});
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }
  /// Tables so small that words are written out again and again.
  MemoryPlan tiny_plan(int threads) const {
    MemoryPlan plan = MemoryPlan::of(threads);
    plan.budget = std::uint64_t{1} << 40;
    plan.table_bytes = std::size_t{1} << 20;
    plan.in_memory_bytes = 0;
    plan.temporary_folder = folder_.path();
    return plan;
  }
  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  testing::TemporaryFolder folder_;
};

LearnOptions small_vocabulary() {
  LearnOptions options;
  options.vocab_size = 700;
  return options;
}

TEST_F(CountWordsTest, AFileHoldsWhatAMapWouldInItsOrder) {
  const std::string text = corpus_text(1, 60000, 5000);
  const auto file = write("text", text);
  for (const int threads : {1, 2, 7})
    EXPECT_EQ(counted({file}, {.threads = threads}), count_file_of(count_like_a_map(text)));
}

TEST_F(CountWordsTest, SummaryAndDroppedWordsAddUp) {
  const std::string text = corpus_text(2, 5000, 2000);
  const Counts all = count_like_a_map(text);
  std::vector<std::string> messages;
  core::OutputFile output(folder_ / "counts");
  const CountSummary summary =
      count_words({write("text", text)}, output, {.min_count = 3}, {},
                  [&](core::LogLevel, std::string_view message) { messages.emplace_back(message); });
  output.commit();
  const std::string kept = count_file_of(all, 3);
  EXPECT_EQ(core::read_file(folder_ / "counts"), kept);
  EXPECT_EQ(summary.words, static_cast<std::uint64_t>(std::count(kept.begin(), kept.end(), '\n')));
  const std::string dropped = std::to_string(all.size() - summary.words);
  EXPECT_THAT(messages, ::testing::ElementsAre(HasSubstr("left out " + dropped + " of " + std::to_string(all.size()))));
}

TEST_F(CountWordsTest, AnEmptyTextGivesAnEmptyFile) {
  EXPECT_EQ(counted({write("text", " \n\r\n  \n")}), "");
}

TEST_F(CountWordsTest, CountsOfPartsMakeTheCountsOfAll) {
  std::vector<std::filesystem::path> texts;
  std::vector<std::filesystem::path> parts;
  for (unsigned i = 0; i < 5; ++i) {
    texts.push_back(write("text" + std::to_string(i), corpus_text(i, 3000, 900)));
    parts.push_back(write("part" + std::to_string(i), counted({texts.back()})));
  }
  EXPECT_EQ(merged(parts), counted(texts));
  EXPECT_EQ(merged({parts[0], parts[0], parts[0]}), counted({texts[0], texts[0], texts[0]}));
}

TEST_F(CountWordsTest, ABudgetDoesNotChangeTheFile) {
  const std::string text = corpus_text(3, 400000, 200000);
  const auto file = write("text", text);
  const std::string free = counted({file});
  const MemoryBudget budget{.bytes = 120'000'000, .temporary_folder = folder_.path()};
  EXPECT_EQ(counted({file}, {.threads = 1, .memory = budget}), free);
  EXPECT_EQ(merged({folder_ / "counts"}, {.threads = 2, .memory = budget}), free);
}

TEST_F(CountWordsTest, ABudgetThatIsTooSmallSaysWhatIsEnough) {
  const auto file = write("text", "a b c\n");
  const auto error_of = [&](std::uint64_t bytes) {
    try {
      counted({file}, {.threads = 2, .memory = {.bytes = bytes, .temporary_folder = folder_.path()}});
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error_of(1000), ::testing::AllOf(HasSubstr("2 threads"), HasSubstr("at least 72MB")));
  EXPECT_EQ(error_of(72'000'000), "no error");
}

TEST_F(CountWordsTest, MalformedLinesAreNamedWithTheirPlace) {
  EXPECT_EQ(error_of_counts("3\ta\n2\tb\n"), "no error");
  EXPECT_EQ(error_of_counts(""), "no error");
  const auto says = [](const std::string& line, const std::string& reason) {
    return ::testing::AllOf(HasSubstr("bad.counts: line " + line + ": "), HasSubstr(reason));
  };
  EXPECT_THAT(error_of_counts("3\ta\n2 b\n"), says("2", "no tab"));
  EXPECT_THAT(error_of_counts("3\ta\n\n"), says("2", "no tab"));
  EXPECT_THAT(error_of_counts("x\ta\n"), says("1", "not a count"));
  EXPECT_THAT(error_of_counts("\ta\n"), says("1", "not a count"));
  EXPECT_THAT(error_of_counts("-3\ta\n"), says("1", "not a count"));
  EXPECT_THAT(error_of_counts("+3\ta\n"), says("1", "not a count"));
  EXPECT_THAT(error_of_counts("3.0\ta\n"), says("1", "not a count"));
  EXPECT_THAT(error_of_counts(" 3\ta\n"), says("1", "not a count"));
  EXPECT_THAT(error_of_counts("0\ta\n"), says("1", "is 0"));
  EXPECT_THAT(error_of_counts("1\t\n"), says("1", "empty"));
  EXPECT_THAT(error_of_counts("1\ta b\n"), says("1", "space"));
  EXPECT_THAT(error_of_counts("1\ta\n1\tb"), says("2", "cut short"));
  EXPECT_THAT(error_of_counts("18446744073709551616\ta\n"), says("1", "64 bits"));
  EXPECT_THAT(error_of_counts("9223372036854775807\ta\n1\tb\n"), says("2", "2^63"));
  EXPECT_EQ(error_of_counts("9223372036854775806\ta\n1\tb\n"), "no error");
}

TEST_F(CountWordsTest, CountsOfSeveralFilesMustNotOverflowEither) {
  const auto half = write("half", "5000000000000000000\ta\n");
  EXPECT_THROW(merged({half, half}), core::Error);
  EXPECT_THROW(learn_bpe_from_counts({half, half}, small_vocabulary()), core::Error);
  const auto long_word = write("long", "4000000000000000000\taaaaaaaaaaaaa\n");
  EXPECT_THROW(learn_bpe_from_counts({long_word}, small_vocabulary()), core::Error) << "its pairs would overflow";
}

TEST_F(CountWordsTest, LearningFromCountsIsLearningFromText) {
  const auto text = write("text", corpus_text(4, 30000, 3000));
  const auto other = write("other", corpus_text(5, 30000, 3000));
  const auto counts = write("counts1", counted({text}));
  const auto other_counts = write("counts2", counted({other}));
  std::vector<LearnOptions> variants(5, small_vocabulary());
  variants[1].normalization = Normalization::kNfc;
  variants[2].lowercase = true;
  variants[3].user_symbols = {"ab"};
  variants[4].min_word_count = 3;
  for (LearnOptions& options : variants)
    for (const int threads : {1, 2, 7}) {
      options.threads = threads;
      EXPECT_EQ(learn_bpe_from_counts({counts, other_counts}, options).to_json(),
                learn_bpe({text, other}, options).to_json());
    }
}

TEST_F(CountWordsTest, RareWordsAreAsIfTheyWereNotThere) {
  const std::string text = corpus_text(6, 8000, 1500);
  LearnOptions options = small_vocabulary();
  const std::string expected =
      learn_bpe_from_counts({write("kept", count_file_of(count_like_a_map(text), 4))}, options).to_json();
  options.min_word_count = 4;
  EXPECT_EQ(learn_bpe({write("text", text)}, options).to_json(), expected);
  options.min_word_count = 1 << 30;
  EXPECT_THROW(learn_bpe({folder_ / "text"}, options), core::Error);
}

TEST_F(CountWordsTest, LearningWithWordsOnDiskGivesTheSameBytes) {
  const auto text = write("text", corpus_text(7, 300000, 60000));
  const WordSource source{.files = {text}};
  std::vector<LearnOptions> variants(6, small_vocabulary());
  variants[1].normalization = Normalization::kNfkc;
  variants[2].lowercase = true;
  variants[3].user_symbols = {"ab", "cd"};
  variants[4].min_word_count = 3;
  variants[5].character_coverage = 0.9;
  for (const LearnOptions& options : variants) {
    const std::string expected = learn_bpe({text}, options).to_json();
    for (const int threads : {1, 2, 7})
      EXPECT_EQ(learn_within(tiny_plan(threads), source, options, {}, {}, {}).to_json(), expected);
  }
  EXPECT_EQ(files_in_folder(), 1U) << "temporary files are left";
}

TEST_F(CountWordsTest, LinesAsWordsOnDiskGiveTheSameBytes) {
  const auto text = write("text", corpus_text(8, 100000, 20000));
  LearnOptions options = small_vocabulary();
  options.word_marks = false;
  EXPECT_EQ(learn_within(tiny_plan(2), {.files = {text}, .whole_lines = true}, options, {}, {}, {}).to_json(),
            learn_bpe({text}, options).to_json());
}

TEST_F(CountWordsTest, TheLogSaysTheSameWithWordsOnDisk) {
  const auto text = write("text", corpus_text(9, 100000, 30000));
  LearnOptions options = small_vocabulary();
  options.min_word_count = 2;
  const auto messages_of = [&](const MemoryPlan& plan) {
    std::vector<std::string> messages;
    learn_within(plan, {.files = {text}}, options, {},
                 [&](core::LogLevel, std::string_view message) { messages.emplace_back(message); }, {});
    return messages;
  };
  EXPECT_EQ(messages_of(tiny_plan(1)), messages_of(MemoryPlan::of(1)));
  EXPECT_EQ(messages_of(tiny_plan(1)).size(), 2U);
}

TEST_F(CountWordsTest, WhatCannotBeLearnedInTheBudgetSaysWhatCan) {
  const auto text = write("text", corpus_text(10, 100000, 30000));
  MemoryPlan plan = tiny_plan(1);
  plan.budget = 42'000'000;
  LearnOptions options = small_vocabulary();
  std::string message;
  try {
    learn_within(plan, {.files = {text}}, options, {}, {}, {});
  } catch (const core::Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, ::testing::AllOf(HasSubstr("text"), HasSubstr("the budget is 42MB"), HasSubstr("`memory`")));
  const std::size_t place = message.find("`min_word_count` ");
  ASSERT_NE(place, std::string::npos) << message;
  options.min_word_count = std::stoull(message.substr(place + std::string("`min_word_count` ").size()));
  const std::string learned = learn_within(plan, {.files = {text}}, options, {}, {}, {}).to_json();
  EXPECT_EQ(learned, learn_bpe({text}, options).to_json());
  --options.min_word_count;
  EXPECT_THROW(learn_within(plan, {.files = {text}}, options, {}, {}, {}), core::Error) << "less would have done";
}

TEST_F(CountWordsTest, AWordTooLongForTheBudgetIsAnError) {
  MemoryPlan plan = tiny_plan(1);
  plan.chunk_bytes = 8'000'000;
  const auto text = write("text", std::string(5'000'000, 'x') + "\n");
  EXPECT_THROW(learn_within(plan, {.files = {text}}, small_vocabulary(), {}, {}, {}), core::Error);
}

TEST_F(CountWordsTest, AFolderThatCannotBeWrittenIsNamed) {
  MemoryPlan plan = tiny_plan(1);
  plan.temporary_folder = folder_ / "nowhere";
  try {
    learn_within(plan, {.files = {write("text", "a b\n")}}, small_vocabulary(), {}, {}, {});
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("nowhere"), HasSubstr("TMPDIR")));
  }
}

TEST_F(CountWordsTest, TablesStayBelowTheirLimit) {
  constexpr std::size_t kLimit = std::size_t{1} << 23;
  WordCounts counts(kLimit);
  std::mt19937_64 random(11);
  std::size_t fillings = 0;
  std::size_t peak = 0;
  for (std::size_t i = 0; i < 2000000; ++i) {
    counts.add(std::to_string(random()).substr(0, 5 + i % 30));
    peak = std::max(peak, counts.bytes());
    if (!counts.is_full()) continue;
    ++fillings;
    counts.clear();
  }
  EXPECT_GT(fillings, 10U);
  EXPECT_LE(peak, kLimit + (std::size_t{1} << 17)) << "over the limit by more than one block of long words";
}

TEST_F(CountWordsTest, ManyRunsAreMergedInStages) {
  WordRuns runs(folder_.path(), {});
  std::mt19937 random(12);
  Counts expected;
  for (std::size_t run = 0; run < WordRuns::kMaxMerged * 20 + 60; ++run) {
    Counts part;
    for (int i = 0; i < 5; ++i) ++part["w" + std::to_string(random() % 5000)];
    RunWriter writer(folder_.path());
    for (const auto& [word, count] : part) {
      writer.add(word, count);
      expected[word] += count;
    }
    runs.add(writer.finish());
  }
  Counts merged;
  for (auto words = runs.merge(); words.next();) EXPECT_TRUE(merged.emplace(words.word(), words.count()).second);
  EXPECT_EQ(merged, expected);
}

TEST_F(CountWordsTest, RunsHoldWordsOfAnyLength) {
  RunWriter writer(folder_.path());
  Counts expected;
  for (std::size_t i = 0; i < 9; ++i)
    expected[std::string(std::size_t{1} << (2 * i), static_cast<char>('a' + i))] = i * i * i << 40 | 1;
  for (const auto& [word, count] : expected) writer.add(word, count);
  Counts read;
  for (RunReader reader(writer.finish()); reader.next();) read.emplace(reader.word(), reader.count());
  EXPECT_EQ(read, expected);
}

TEST_F(CountWordsTest, AStopRequestEndsCountingAndSorting) {
  const auto text = write("text", corpus_text(13, 1000, 100));
  std::stop_source stop;
  stop.request_stop();
  core::OutputFile output(folder_ / "counts");
  EXPECT_THROW(count_words({text}, output, {}, {}, {}, stop.get_token()), core::Error);
}

std::filesystem::path count_seeds() {
  return testing::source_folder() / "tests" / "fuzz" / "corpus" / "count_lines";
}

TEST(CountFileReader, ChangedFilesAreReadOrRefused) {
  int still_read = 0;
  std::mt19937 random(14);
  for (const auto& file : std::filesystem::directory_iterator(count_seeds())) {
    const std::string seed = core::read_file(file.path());
    for (std::size_t size = 0; size <= seed.size(); ++size) fuzz::exercise_count_lines(seed.substr(0, size));
    for (int i = 0; i < 5000; ++i) {
      std::string changed = seed;
      for (std::size_t n = 1 + random() % 3; n > 0 && !changed.empty(); --n) {
        const std::size_t at = random() % changed.size();
        const std::string_view bytes("\t\n\r 0193a\xFF\0-", 13);
        if (random() % 4 == 0)
          changed.erase(at, 1 + random() % 3);
        else if (random() % 2 == 0)
          changed.insert(at, 1, bytes[random() % bytes.size()]);
        else
          changed[at] = bytes[random() % bytes.size()];
      }
      still_read += fuzz::exercise_count_lines(changed) ? 1 : 0;
    }
  }
  EXPECT_GT(still_read, 1000);
}

}  // namespace
}  // namespace dragoman::tokenizer
