#include "small_task.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/training/corpus.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CorpusOf : public ::testing::Test {
 protected:
  /// One id per byte, so that lengths are plain to see.
  class Bytes final : public tokenizer::Tokenizer {
   public:
    std::int32_t size() const override { return 256; }
    std::vector<std::int32_t> encode(std::string_view text, const tokenizer::EncodeOptions& options) const override {
      std::vector<std::int32_t> ids;
      for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
      // A stand-in for dropout that makes some lines much longer.
      if (options.mode == tokenizer::EncodingMode::kDropout && (options.seed + options.line) % 2 == 0)
        ids.insert(ids.end(), 5, 7);
      return ids;
    }
    std::vector<tokenizer::Piece> encode_pieces(std::string_view, const tokenizer::EncodeOptions&) const override {
      return {};
    }
    std::string decode(std::span<const std::int32_t> ids) const override { return std::string(ids.begin(), ids.end()); }
    std::string_view piece(std::int32_t) const override { return "x"; }
    std::optional<std::int32_t> id(std::string_view) const override { return {}; }
    bool is_special(std::int32_t) const override { return false; }
  };

  ParallelCorpusConfig write(std::string_view source, std::string_view target) {
    core::write_file(folder_ / "s", source);
    core::write_file(folder_ / "t", target);
    return {{(folder_ / "s").string()}, {(folder_ / "t").string()}};
  }
  Corpus read(const ParallelCorpusConfig& files, const CorpusOptions& options = {}) {
    return Corpus(files, tokenizers_, options, executor_);
  }
  std::string error_of(const ParallelCorpusConfig& files, const CorpusOptions& options = {}) {
    try {
      read(files, options);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
  core::SequentialExecutor executor_;
  std::shared_ptr<const tokenizer::Tokenizer> bytes_ = std::make_shared<Bytes>();
  TokenizerPair tokenizers_{bytes_, bytes_};
};

std::vector<std::int32_t> ids(std::span<const std::int32_t> sequence) {
  return {sequence.begin(), sequence.end()};
}

TEST_F(CorpusOf, PutsTagsAroundEachPairInEveryEpoch) {
  const formats::SequenceTags tags{.source_prefix = {20, 21}, .source_suffix = {22}, .target_prefix = {30}};
  const Corpus corpus = read(write("ab\n\nc\n", "x\ny\nzz\n"), {.end = 2, .tags = tags, .bpe_dropout = 0.5});
  EXPECT_EQ(corpus.counts().empty, 1U);  // tags alone are no sentence
  EXPECT_EQ(ids(corpus.pairs().source[0]), (std::vector<std::int32_t>{20, 21, 'a', 'b', 2, 22}));
  EXPECT_EQ(ids(corpus.pairs().target[1]), (std::vector<std::int32_t>{30, 'z', 'z', 2}));
  const EncodedPairs dropped = corpus.drawn(1, executor_, {});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ids(dropped.source[i].first(2)), tags.source_prefix);
    EXPECT_EQ(dropped.source[i].back(), 22);
    EXPECT_EQ(dropped.target[i].front(), 30);
  }
}

TEST_F(CorpusOf, KnowsWhichPairsAreOfWhichText) {
  ParallelCorpusConfig files = write("a\n\nb\n", "x\ny\nz\n");
  core::write_file(folder_ / "s2", "c\n");
  core::write_file(folder_ / "t2", "w\n");
  files.source.push_back((folder_ / "s2").string());
  files.target.push_back((folder_ / "t2").string());
  EXPECT_TRUE(read(files).pairs().parts.empty());
  files.weights = {0.5, 3};
  const Corpus corpus = read(files, {.bpe_dropout = 0.5});
  const EncodedPairs drawn = corpus.drawn(1, executor_, {});
  for (const EncodedPairs* pairs : {&corpus.pairs(), &drawn}) {
    ASSERT_EQ(pairs->parts.size(), 2U);
    EXPECT_EQ(pairs->parts[0].end, 2U);
    EXPECT_EQ(pairs->parts[0].weight, 0.5);
    EXPECT_EQ(pairs->parts[1].end, 3U);
  }
}

TEST_F(CorpusOf, EncodesBothSidesWithTheEnd) {
  const Corpus corpus = read(write("ab\ncde\r\n", "x\ny"));
  ASSERT_EQ(corpus.size(), 2U);
  EXPECT_EQ(ids(corpus.pairs().source[0]), (std::vector<std::int32_t>{'a', 'b', 2}));
  EXPECT_EQ(ids(corpus.pairs().source[1]), (std::vector<std::int32_t>{'c', 'd', 'e', 2}))
      << "without the carriage return";
  EXPECT_EQ(ids(corpus.pairs().target[1]), (std::vector<std::int32_t>{'y', 2})) << "an unterminated last line counts";
}

TEST_F(CorpusOf, CountsWhatItLeavesOut) {
  const Corpus corpus =
      read(write("a\n\nabcd\nabc\n\xFF\n", "x\ny\nz\nxyz\nw\n"), {.maximum_length = 4, .keep_text = true});
  EXPECT_EQ(corpus.counts().lines, 5U);
  EXPECT_EQ(corpus.counts().empty, 1U);
  EXPECT_EQ(corpus.counts().too_long, 1U) << "abcd and the end are 5";
  EXPECT_EQ(corpus.counts().invalid_text, 1U);
  ASSERT_EQ(corpus.size(), 3U);
  EXPECT_EQ(corpus.source_text()[1], "abc");
  EXPECT_EQ(corpus.source_text()[2], "\xEF\xBF\xBD");
  EXPECT_EQ(corpus.target_text()[2], "w");
}

TEST_F(CorpusOf, BlankSidesAreEmptyWhateverTheirWhiteSpace) {
  const Corpus corpus = read(write(" \n\u00A0\na\nb\n\u3000\nc\n", "x\ny\n\u2003\t\nz\n\u0085\n\u200B\n"));
  EXPECT_EQ(corpus.counts().empty, 4U);
  ASSERT_EQ(corpus.size(), 2U) << "U+200B is no white space";
  EXPECT_EQ(ids(corpus.pairs().source[0]), (std::vector<std::int32_t>{'b', 2}));
}

TEST_F(CorpusOf, KnowsHowManySequencesThereAreOfEachLength) {
  const Corpus corpus = read(write("ab\n\nabcd\ncd\n", "x\ny\nzz\nzzz\n"), {.maximum_length = 4});
  EXPECT_EQ(corpus.lengths().source, (LengthCounts{{3, 2}})) << "with the end, and without what is left out";
  EXPECT_EQ(corpus.lengths().target, (LengthCounts{{2, 1}, {4, 1}}));
}

TEST_F(CorpusOf, FilesOfDifferentLengthAreNamedWithTheirCounts) {
  EXPECT_THAT(error_of(write("a\nb\nc\n", "x\ny\n")), AllOf(HasSubstr("/s has 3 lines"), HasSubstr("/t has 2")));
  EXPECT_THAT(error_of(write("a\n", "x\ny\nz\nw\n")), AllOf(HasSubstr("/s has 1 lines"), HasSubstr("/t has 4")));
}

TEST_F(CorpusOf, MissingFilesAndEmptyTextsAreErrors) {
  EXPECT_THAT(error_of({{"/nowhere/a"}, {"/nowhere/b"}}), HasSubstr("/nowhere/a"));
  EXPECT_THAT(error_of(write("", "")), HasSubstr("no usable pair"));
  EXPECT_THAT(error_of(write("abc\n", "abc\n"), {.maximum_length = 2}), HasSubstr("maximum_length"));
}

TEST_F(CorpusOf, SeveralFilesFollowOneAnother) {
  ParallelCorpusConfig files = write("a\n", "x\n");
  core::write_file(folder_ / "s2", "b\n");
  core::write_file(folder_ / "t2", "y\n");
  files.source.push_back((folder_ / "s2").string());
  files.target.push_back((folder_ / "t2").string());
  const Corpus corpus = read(files);
  ASSERT_EQ(corpus.size(), 2U);
  EXPECT_EQ(corpus.pairs().target[1][0], 'y');
}

TEST_F(CorpusOf, FingerprintsTellTextsApart) {
  const std::string first = read(write("a\nb\n", "x\ny\n")).fingerprint();
  EXPECT_EQ(first, read(write("a\nb\n", "x\ny\n")).fingerprint());
  EXPECT_NE(first, read(write("b\na\n", "x\ny\n")).fingerprint());
  EXPECT_NE(first, read(write("a\nb\n", "x\nz\n")).fingerprint());
}

TEST(Hexadecimal, HasAllItsDigits) {
  EXPECT_EQ(hexadecimal(0xabU), "00000000000000ab");
}

TEST_F(CorpusOf, PairsThatDropoutMakesTooLongKeepTheirUsualPieces) {
  const Corpus corpus = read(write("aaa\nbbb\nccc\nddd\n", "x\nx\nx\nx\n"), {.maximum_length = 6, .bpe_dropout = 0.5});
  const EncodedPairs dropped = corpus.drawn(0, executor_, {});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(ids(dropped.source[i]), ids(corpus.pairs().source[i]));
}

TEST_F(CorpusOf, EncodesTheSameWithAnyNumberOfThreadsAndAnewEachEpoch) {
  const testing::SmallTask task(folder_.path(), 500);
  const auto tokenizer = std::shared_ptr(tokenizer::load_tokenizer(task.file("tokenizer.json")));
  const auto encode = [&](int threads, std::int64_t epoch) {
    const auto executor = core::make_executor(threads);
    const Corpus corpus({{task.file("train.source").string()}, {task.file("train.target").string()}},
                        {tokenizer, tokenizer}, {.bpe_dropout = 0.3, .seed = 4}, *executor);
    std::vector<std::vector<std::int32_t>> all;
    const EncodedPairs pairs = corpus.drawn(epoch, *executor, {});
    for (std::size_t i = 0; i < pairs.size(); ++i) all.push_back(ids(pairs.source[i]));
    return all;
  };
  EXPECT_EQ(encode(1, 0), encode(3, 0));
  EXPECT_NE(encode(1, 0), encode(1, 1));
}

}  // namespace
}  // namespace dragoman::training
