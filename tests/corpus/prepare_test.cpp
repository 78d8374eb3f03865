#include "corpus/seen_texts.h"
#include "file_size_limit.h"
#include "test_data.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/random.h>
#include <dragoman/corpus/prepare.h>

namespace dragoman::corpus {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::HasSubstr;

class PrepareOf : public ::testing::Test {
 protected:
  PrepareOptions options(std::string_view source, std::string_view target) {
    core::write_file(folder_ / "s", source);
    core::write_file(folder_ / "t", target);
    PrepareOptions prepared;
    prepared.inputs = {{.source = path("s"), .target = path("t")}};
    prepared.train = {.source = path("train.s"), .target = path("train.t")};
    prepared.threads = 1;
    return prepared;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string content(const std::string& name) const { return core::read_file(folder_ / name); }

  /// Lines of words, one in five of which was there before.
  static std::pair<std::string, std::string> texts(std::uint64_t lines) {
    std::string source, target;
    for (std::uint64_t i = 0; i < lines; ++i) {
      const std::uint64_t n = core::random_below(5, 1, 0, i) == 0 && i > 0 ? core::random_below(i, 1, 1, i) : i;
      std::string word;
      for (std::uint64_t rest = n + 26; rest > 0; rest /= 26) word += static_cast<char>('a' + rest % 26);
      source += "quelle " + word + "\n";
      target += "target " + word + " text\n";
    }
    return {source, target};
  }
  TemporaryFolder folder_;
};

TEST_F(PrepareOf, FindsOutFirstThatAnOutputCannotBeMarked) {
  PrepareOptions prepared = options("ein Haus\n", "a house\n");
  std::filesystem::create_directory(folder_ / "train.t.superseded");
  prepared.inputs.front().source = path("missing");
  try {
    prepare(prepared);
    ADD_FAILURE() << "no error";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("train.t.superseded: is in the way"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "train.s.partial"));
}

TEST_F(PrepareOf, KeepsOrDropsBothSidesAndCountsWhy) {
  PrepareOptions prepared =
      options("ein Haus\n\ngleich\nein Haus\nein Baum\nein\xFF Tag\n", "a house\nx\ngleich\na house\na tree\na day\n");
  prepared.rejected = path("rejected.tsv");
  const PrepareSummary summary = prepare(prepared);
  EXPECT_EQ(content("train.s"), "ein Haus\nein Baum\n");
  EXPECT_EQ(content("train.t"), "a house\na tree\n");
  EXPECT_EQ(summary.lines, 6U);
  EXPECT_EQ(summary.kept.pairs, 2U);
  EXPECT_EQ(summary.dropped_in_all(), 4U);
  for (const Reason reason : {Reason::kEmpty, Reason::kIdentical, Reason::kDuplicate, Reason::kMalformed})
    EXPECT_EQ(summary.dropped[static_cast<std::size_t>(reason)], 1U) << name_of(reason);
  const std::string file = path("s") + " and " + path("t");
  EXPECT_THAT(content("rejected.tsv"), HasSubstr("empty\t" + file + "\t2\t\tx\n"));
  EXPECT_THAT(content("rejected.tsv"), HasSubstr("duplicate\t" + file + "\t4\tein Haus\ta house\n"));
  EXPECT_EQ(summary.kept.source.words, 4U);
  EXPECT_EQ(summary.kept.target.characters, 13U);
  EXPECT_THAT(describe(summary, LengthUnit::kWords), HasSubstr("6 lines: 2 pairs kept, 4 dropped"));
}

TEST_F(PrepareOf, FindsDuplicatesOfOneSideAmongWhatStays) {
  PrepareOptions prepared = options("a b\na b\nc d\ne f\n", "u v\nw x\nu v\ny z\n");
  prepared.duplicates = {.pairs = false, .source = true, .target = true};
  const PrepareSummary summary = prepare(prepared);
  EXPECT_EQ(content("train.s"), "a b\ne f\n");
  EXPECT_EQ(summary.dropped[static_cast<std::size_t>(Reason::kDuplicateSource)], 1U);
  EXPECT_EQ(summary.dropped[static_cast<std::size_t>(Reason::kDuplicateTarget)], 1U);
}

TEST_F(PrepareOf, NormalizesBeforeItLooks) {
  PrepareOptions prepared = options("e\u0301te\u0301  \u00E9t\u00E9 \n\u00E9t\u00E9 \u00E9t\u00E9\n", "a\na\n");
  prepared.normalization = Normalization::kNfc;
  prepared.squeeze_spaces = true;
  prepare(prepared);
  EXPECT_EQ(content("train.s"), "\u00E9t\u00E9 \u00E9t\u00E9\n") << "both are the same by then";
}

TEST_F(PrepareOf, SplitsWithoutSharingASourceAndForgetsNoPair) {
  const auto [source, target] = texts(3000);
  PrepareOptions prepared = options(source, target);
  prepared.validation = 50;
  prepared.test = 30;
  prepared.validation_output = {.format = PairFormat::kTsv, .source = path("val.tsv")};
  prepared.test_output = {.format = PairFormat::kJsonl, .source = path("test.jsonl.gz")};
  const PrepareSummary summary = prepare(prepared);
  EXPECT_EQ(summary.validation, 50U);
  EXPECT_EQ(summary.test, 30U);
  EXPECT_EQ(summary.train + 80, summary.kept.pairs);
  std::multiset<std::string> all;
  const auto add = [&](const PairFile& file) {
    PairReader reader(file);
    for (ParsedPair pair; reader.next(pair);) all.insert(pair.source);
  };
  add({.source = path("train.s"), .target = path("train.t")});
  add({.format = PairFormat::kTsv, .source = path("val.tsv")});
  add({.format = PairFormat::kJsonl, .source = path("test.jsonl.gz")});
  EXPECT_EQ(all.size(), summary.kept.pairs);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  const std::string first = content("val.tsv");
  prepared.seed = 2;
  prepare(prepared);
  EXPECT_NE(content("val.tsv"), first);
}

TEST_F(PrepareOf, GivesTheSameBytesForAnyNumberOfThreads) {
  const auto [source, target] = texts(60000);
  PrepareOptions prepared = options(source, target);
  prepared.validation = 100;
  prepared.validation_output = {.source = path("val.s"), .target = path("val.t")};
  prepared.rejected = path("rejected.jsonl");
  std::set<std::string> results;
  for (const int threads : {1, 2, 5}) {
    prepared.threads = threads;
    const core::Json summary = to_json(prepare(prepared), LengthUnit::kWords);
    results.insert(content("train.s") + content("train.t") + content("val.s") + content("rejected.jsonl") +
                   core::one_line(summary));
  }
  EXPECT_EQ(results.size(), 1U);
}

TEST_F(PrepareOf, FailsWithoutLeavingAFile) {
  for (const auto& [source, target] : {std::pair("a\nb\n", "x\n"), std::pair("", "")}) {
    const PrepareOptions prepared = options(source, target);
    EXPECT_THROW(prepare(prepared), core::Error);
    EXPECT_FALSE(std::filesystem::exists(path("train.s")));
    EXPECT_FALSE(std::filesystem::exists(path("train.s.partial")));
  }
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(prepare(options("a\n", "x\n"), {}, stop.get_token()), core::Error);
  EXPECT_FALSE(std::filesystem::exists(path("train.t")));
}

TEST_F(PrepareOf, AFormThatNoLineHasIsAnErrorAndReplacesNothing) {
  PrepareOptions prepared = options("a\tx\nb\ty\n", "");
  prepared.inputs = {{.format = PairFormat::kTsv, .source = path("s"), .source_column = 3}};
  core::write_file(folder_ / "train.s", "earlier\n");
  try {
    prepare(prepared);
    FAIL() << "columns that are not there";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("none of the 2 lines holds a pair"));
  }
  EXPECT_EQ(content("train.s"), "earlier\n");
  prepared.inputs[0].source_column = 1;
  EXPECT_EQ(prepare(prepared).kept.pairs, 2U);
}

/// The source fits onto the disk, the target does not.
TEST_F(PrepareOf, AFullDiskLeavesBothSidesAsTheyWere) {
  std::string source, target;
  for (int i = 0; i < 200; ++i) {
    source += "wort " + std::to_string(i) + "\n";
    target += "a word with a much longer translation than it needs, number " + std::to_string(i) + "\n";
  }
  PrepareOptions prepared = options(source, target);
  for (const char* name : {"train.s", "train.t", "val.s", "val.t", "rejected"}) core::write_file(path(name), "old\n");
  prepared.filters.minimum_letters = 0;
  prepared.filters.maximum_ratio = 100;
  prepared.validation = 5;
  prepared.validation_output = {.source = path("val.s"), .target = path("val.t")};
  prepared.rejected = path("rejected");
  {
    const dragoman::testing::FileSizeLimit limit(6000);
    EXPECT_THROW(prepare(prepared), core::Error);
  }
  for (const char* name : {"train.s", "train.t", "val.s", "val.t", "rejected"}) {
    EXPECT_EQ(content(name), "old\n") << name;
    EXPECT_FALSE(std::filesystem::exists(path(std::string(name) + ".partial"))) << name;
  }
  prepare(prepared);
  EXPECT_EQ(std::ranges::count(content("train.s"), '\n'), 195);
  EXPECT_EQ(std::ranges::count(content("train.t"), '\n'), 195);
}

/// Each of some sources has several translations.
TEST_F(PrepareOf, KeepsAllPairsOfASourceOnOneSide) {
  std::string source, target;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t n = core::random_below(500, 1, 0, i);
    source += "quelle  " + std::to_string(n) + "\n";  // with two spaces, of which one stays
    target += "target " + std::to_string(i) + "\n";
  }
  source += "viele viele\nquelle 7\n";
  target += "many many\nseven\n";
  for (int i = 0; i < 300; ++i) {
    source += "viele viele\n";
    target += "many " + std::to_string(i) + "\n";
  }
  PrepareOptions prepared = options(source, target);
  prepared.filters.minimum_letters = 0;
  prepared.squeeze_spaces = true;
  prepared.validation_output = {.source = path("val.s"), .target = path("val.t")};
  prepared.test_output = {.source = path("test.s"), .target = path("test.t")};
  const auto sources_of = [&](const std::string& name) {
    std::istringstream lines(content(name));
    std::set<std::string> found;
    for (std::string line; std::getline(lines, line);) found.insert(line);
    return found;
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    prepared.seed = seed;
    prepared.validation = 50 + seed;
    prepared.test = 20;
    const PrepareSummary summary = prepare(prepared);
    EXPECT_EQ(summary.train + summary.validation + summary.test, summary.kept.pairs);
    EXPECT_LE(summary.validation, prepared.validation);
    EXPECT_GE(summary.validation, prepared.validation - 2);
    EXPECT_GE(summary.test, 18U);
    std::size_t sources = 0;
    std::set<std::string> all;
    for (const char* name : {"train.s", "val.s", "test.s"}) {
      const std::set<std::string> own = sources_of(name);
      sources += own.size();
      all.insert(own.begin(), own.end());
    }
    EXPECT_EQ(all.size(), sources) << "a source is on two sides";
    EXPECT_TRUE(sources_of("train.s").contains("viele viele")) << "it fits nowhere else";
  }
}

TEST_F(PrepareOf, ASourceThatFitsNowhereIsAnError) {
  std::string source, target;
  for (int i = 0; i < 40; ++i) {
    source += "quelle\n";
    target += "target " + std::string(1, static_cast<char>('a' + i % 26)) + (i < 26 ? "" : "x") + "\n";
  }
  PrepareOptions prepared = options(source, target);
  prepared.validation = 10;
  prepared.validation_output = {.source = path("val.s"), .target = path("val.t")};
  try {
    prepare(prepared);
    ADD_FAILURE() << "no error";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("source"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("train.s")));
}

TEST(SeenTexts, RemembersEachTextOnce) {
  SeenTexts seen;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 100000; ++i) {
      const TextKey key = key_of("text " + std::to_string(i));
      EXPECT_EQ(seen.contains(key), round == 1);
      EXPECT_EQ(seen.insert(key), round == 0);
    }
  EXPECT_EQ(seen.size(), 100000U);
  EXPECT_LT(seen.bytes(), 45 * seen.size());
  EXPECT_NE(key_of("ab", "c"), key_of("a", "bc"));
}

}  // namespace
}  // namespace dragoman::corpus
