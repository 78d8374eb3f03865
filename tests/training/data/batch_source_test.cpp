#include "data/batch_source.h"

#include "configuration/text_config.h"
#include "data/block_store.h"
#include "small_task.h"
#include "test_data.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SmallTask;
using testing::StopAt;
using testing::train;

/// A text's number as its only token, so that pairs are known by it; draws add a token that follows from seed and line.
class Numbers final : public tokenizer::Tokenizer {
 public:
  std::int32_t size() const override { return 1 << 24; }
  std::vector<std::int32_t> encode(std::string_view text, const tokenizer::EncodeOptions& options) const override {
    std::vector<std::int32_t> ids(1, std::atoi(std::string(text).c_str()));
    if (options.mode == tokenizer::EncodingMode::kSample)
      ids.push_back(static_cast<std::int32_t>((options.seed ^ options.line) & 0xFFFF));
    return ids;
  }
  std::vector<tokenizer::Piece> encode_pieces(std::string_view, const tokenizer::EncodeOptions&) const override {
    return {};
  }
  std::string decode(std::span<const std::int32_t>) const override { return {}; }
  std::string_view piece(std::int32_t) const override { return "x"; }
  std::optional<std::int32_t> id(std::string_view) const override { return {}; }
  bool is_special(std::int32_t) const override { return false; }
};

class BlocksOf : public ::testing::Test {
 protected:
  BlocksOf() {
    write_text("a", 0, 3000);
    write_text("b", 100000, 1000);
    config_.data.train = {.source = {file("a"), file("b")}, .target = {file("a"), file("b")}};
    config_.data.bucket_window = 64;
    config_.training.batch_tokens = 50;
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  void write_text(const std::string& name, int first, int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i) text += std::to_string(first + i) + "\n";
    core::write_file(folder_ / name, text);
  }
  /// The one folder of blocks in the cache.
  std::filesystem::path blocks() const {
    const std::vector<std::filesystem::path> folders = core::list_folder(folder_ / "cache");
    EXPECT_EQ(folders.size(), 1U);
    return folders.at(0);
  }
  Corpus read(std::uint64_t memory = 20000, bool keep_text = false) {
    return Corpus(config_.data.train, {numbers_, numbers_},
                  {.subword_sampling = config_.data.subword_sampling,
                   .keep_text = keep_text,
                   .keep_parts = !config_.data.phases.empty(),
                   .temperature = config_.data.temperature,
                   .memory = memory,
                   .cache = folder_ / "cache",
                   .log = [this](core::LogLevel, std::string_view message) { log_ += message; }},
                  executor_, [this](const core::Progress&) { ++progress_; });
  }
  /// The pairs of an epoch in the order of its batches.
  std::vector<std::int32_t> pairs_of(const Corpus& corpus, std::int64_t epoch, std::int64_t update = 0) {
    BatchSource source(config_, corpus, executor_);
    TrainingState state{.update = update, .epoch = epoch};
    std::vector<std::int32_t> seen;
    for (Batch batch; state.epoch == epoch; source.advance(state, source.available(3))) {
      source.go_to(state);
      for (std::int64_t i = 0; i < source.available(3); ++i) {
        source.assign(i, batch, 1, 1);
        EXPECT_EQ(source.target_tokens(i), batch.target_tokens());
        for (std::size_t pair = 0; pair + 1 < batch.source().offsets.size(); ++pair)
          seen.push_back(batch.source().tokens[static_cast<std::size_t>(batch.source().offsets[pair])]);
      }
    }
    return seen;
  }
  static std::map<std::int32_t, int> counts_of(const std::vector<std::int32_t>& pairs) {
    std::map<std::int32_t, int> counts;
    for (const std::int32_t pair : pairs) ++counts[pair];
    return counts;
  }

  TemporaryFolder folder_;
  core::SequentialExecutor executor_;
  std::shared_ptr<const tokenizer::Tokenizer> numbers_ = std::make_shared<Numbers>();
  TrainingConfig config_;
  std::string log_;
  int progress_ = 0;
};

TEST_F(BlocksOf, AnEpochHasEachPairOnceInItsOwnOrder) {
  const Corpus corpus = read();
  ASSERT_TRUE(corpus.on_disk());
  EXPECT_GT(corpus.blocks(), 3 * WindowMaker::kWindowBlocks);
  const std::vector<std::int32_t> first = pairs_of(corpus, 0);
  const auto counts = counts_of(first);
  EXPECT_EQ(first.size(), 4000U);
  EXPECT_EQ(counts.size(), 4000U);
  EXPECT_EQ(first, pairs_of(corpus, 0));
  EXPECT_NE(first, pairs_of(corpus, 1));
  EXPECT_EQ(counts, counts_of(pairs_of(corpus, 1)));
}

TEST_F(BlocksOf, ABatchIsTheSameHoweverOneGetsThere) {
  const Corpus corpus = read();
  const auto batch_at = [&](BatchSource& source, std::int64_t at) {
    source.go_to({.epoch = 2, .batch = at});
    EXPECT_EQ(source.available(1), 1);
    Batch batch;
    source.assign(0, batch, 1, 1);
    return std::vector<std::int32_t>(batch.source().tokens.begin(), batch.source().tokens.end());
  };
  BatchSource in_order(config_, corpus, executor_);
  for (std::int64_t at = 0; at < 100; ++at) {
    const auto expected = batch_at(in_order, at);
    if (at % 33 != 0) continue;
    BatchSource resumed(config_, corpus, executor_);
    EXPECT_EQ(batch_at(resumed, at), expected) << at;
  }
}

TEST_F(BlocksOf, FitsIntoMemoryAsItWasWithoutABudget) {
  const Corpus with = read(std::uint64_t{1} << 24);
  const Corpus without = read(0);
  EXPECT_FALSE(with.on_disk());
  EXPECT_EQ(with.fingerprint(), without.fingerprint());
  EXPECT_EQ(pairs_of(with, 3), pairs_of(without, 3));
  EXPECT_EQ(read().fingerprint(), without.fingerprint());
}

TEST_F(BlocksOf, WeightsSayHowOftenPairsCome) {
  config_.data.train.weights = {0.5, 2.5};
  const Corpus corpus = read();
  const auto counts = counts_of(pairs_of(corpus, 0));
  std::map<int, int> of_a, of_b;
  for (const auto& [pair, times] : counts) ++(pair < 100000 ? of_a : of_b)[times];
  EXPECT_EQ(of_a[1], 1500);
  EXPECT_EQ(of_a.size(), 1U);
  EXPECT_EQ(of_b[2] + of_b[3], 1000);
  EXPECT_EQ(of_b[3], 500);
}

TEST_F(BlocksOf, DrawsFollowFromEpochAndLine) {
  config_.data.subword_sampling = {.on = true};
  const Corpus on_disk = read();
  const Corpus in_memory = read(0);
  const auto sequences = [&](const Corpus& corpus, std::int64_t epoch) {
    std::map<std::int32_t, std::int32_t> drawn;
    WindowMaker maker(config_, corpus);
    for (std::int64_t window = 0; window < maker.windows(epoch, 0); ++window) {
      const auto made = maker.make({.epoch = epoch, .phase = 0, .window = window}, executor_, {});
      for (std::size_t i = 0; i < made->pairs->size(); ++i)
        drawn[made->pairs->source[i][0]] = made->pairs->source[i][1];
    }
    return drawn;
  };
  EXPECT_EQ(sequences(on_disk, 0), sequences(in_memory, 0));
  EXPECT_NE(sequences(on_disk, 0), sequences(on_disk, 1));
}

TEST_F(BlocksOf, AreUsedAgainForTheSameFilesOnly) {
  const std::string fingerprint = read().fingerprint();
  progress_ = 0;
  EXPECT_EQ(read().fingerprint(), fingerprint);
  EXPECT_EQ(progress_, 0) << "nothing was read";
  write_text("b", 200000, 1001);
  EXPECT_NE(read().fingerprint(), fingerprint);
  EXPECT_GT(progress_, 0);
}

TEST_F(BlocksOf, DamagedOnesAreNamedAndMadeAnew) {
  const Corpus corpus = read();
  const auto expected = pairs_of(corpus, 0);
  const auto file = blocks() / "block-000002.bin";
  const std::string bytes = core::read_file(file);
  std::string changed = bytes;
  changed[changed.size() / 2] ^= 1;
  for (const std::string& damaged : {changed, bytes.substr(0, 100), std::string()}) {
    log_.clear();
    std::filesystem::remove(file);
    if (!damaged.empty()) core::write_file(file, damaged);
    EXPECT_EQ(pairs_of(corpus, 0), expected);
    EXPECT_THAT(log_, AllOf(HasSubstr("block-000002.bin"), HasSubstr("made anew")));
    EXPECT_EQ(core::read_file(file), bytes);
  }
  std::filesystem::remove(file);
  write_text("a", 7, 3000);
  EXPECT_THROW(pairs_of(corpus, 0), core::Error) << "the text is another one by now";
}

/// An index may be damaged so that it is still one.
TEST_F(BlocksOf, AreNotWrittenThroughALink) {
  const Corpus corpus = read();
  const auto expected = pairs_of(corpus, 0);
  const auto block = blocks() / "block-000001.bin";
  core::write_file(folder_ / "precious", "years of work");
  std::filesystem::remove(block);
  std::filesystem::create_symlink(folder_ / "precious", block);
  EXPECT_EQ(pairs_of(corpus, 0), expected);
  EXPECT_EQ(core::read_file(folder_ / "precious"), "years of work");
  EXPECT_TRUE(std::filesystem::is_symlink(block)) << "the link may be somebody's, so it stays";
  EXPECT_THAT(log_, HasSubstr("block-000001.bin"));
}

TEST_F(BlocksOf, AreMadeAnewIfTheirIndexNamesOtherPlaces) {
  const auto expected = pairs_of(read(), 0);
  const auto file = blocks() / "index.json";
  const std::string whole = core::read_file(file);
  for (const auto& [key, value] : {std::pair("text", 7), {"text", 1 << 30}, {"file", 9}, {"line", 0}}) {
    core::Json index = core::parse_json(whole, "index");
    index["blocks"][1][key] = value;
    core::write_file(file, core::one_line(index) + "\n");
    EXPECT_EQ(pairs_of(read(), 0), expected) << key;
    EXPECT_EQ(core::read_file(file), whole) << key;
  }
}

TEST_F(BlocksOf, AreRefusedIfTheirIndexHasOtherNumbersOfPairs) {
  read();
  core::Json index = core::load_json((blocks() / "index.json").string());
  core::Json& entries = index["blocks"];
  entries[0]["pairs"] = entries[0]["pairs"].get<int>() + 1;
  entries[1]["pairs"] = entries[1]["pairs"].get<int>() - 1;
  core::write_file(blocks() / "index.json", core::one_line(index) + "\n");
  const Corpus corpus = read();
  try {
    pairs_of(corpus, 0);
    ADD_FAILURE() << "no error";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("has other pairs than its index says"));
  }
}

/// What makes a block anew must know all that the first making knew.
TEST_F(BlocksOf, WithTheirTextAreMadeAnew) {
  const Corpus corpus = read(20000, true);
  const auto expected = pairs_of(corpus, 0);
  const auto file = blocks() / "block-000000.bin";
  const std::string bytes = core::read_file(file);
  std::filesystem::remove(file);
  EXPECT_EQ(pairs_of(corpus, 0), expected);
  EXPECT_EQ(core::read_file(file), bytes);
  read();
  EXPECT_EQ(core::list_folder(folder_ / "cache").size(), 2U) << "those without text are others";
}

TEST_F(BlocksOf, ThatCannotBeWrittenAgainAreUsedAllTheSame) {
  const Corpus corpus = read();
  const auto expected = pairs_of(corpus, 0);
  const auto file = blocks() / "block-000001.bin";
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_EQ(pairs_of(corpus, 0), expected);
  EXPECT_THAT(log_, AllOf(HasSubstr("block-000001.bin"), HasSubstr("used all the same")));
}

/// A cache may be any folder, one's home for instance.
TEST_F(BlocksOf, LeaveAloneWhatElseTheirFolderHolds) {
  core::make_folder(folder_ / "cache" / "thesis");
  core::write_file(folder_ / "cache" / "thesis" / "chapter.tex", "years of work");
  core::write_file(folder_ / "cache" / "index.json", "mine");
  const Corpus corpus = read();
  const auto expected = pairs_of(corpus, 0);
  read(30000);
  write_text("b", 200000, 1001);
  read();
  EXPECT_EQ(core::read_file(folder_ / "cache" / "thesis" / "chapter.tex"), "years of work");
  EXPECT_EQ(core::read_file(folder_ / "cache" / "index.json"), "mine");
  EXPECT_EQ(core::list_folder(folder_ / "cache").size(), 5U) << "of each corpus and limit";
  log_.clear();
  EXPECT_EQ(pairs_of(corpus, 0), expected);
  EXPECT_EQ(log_, "") << "those of a run that is going on stay as they were";
}

TEST_F(BlocksOf, NeverTakeThePlaceOfWhatIsNone) {
  read();
  const auto folder = blocks();
  std::filesystem::remove(folder / "index.json");
  for (const char* name : {"notes.txt", "block-1.bin.txt", "block-x.bin"}) {
    core::write_file(folder / name, "precious");
    progress_ = 0;
    try {
      read();
      ADD_FAILURE() << "no error";
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr((folder / name).string()), HasSubstr("data.cache")));
    }
    EXPECT_EQ(progress_, 0) << "before anything is read";
    EXPECT_EQ(core::read_file(folder / name), "precious");
    EXPECT_TRUE(std::filesystem::exists(folder / "block-000001.bin"));
    std::filesystem::remove(folder / name);
  }
  EXPECT_EQ(read().size(), 4000U) << "unfinished blocks alone are made anew";
}

TEST_F(BlocksOf, AResumedRunReadsItsWindowAlone) {
  const Corpus corpus = read();
  TrainingState state{.epoch = 1};
  {
    BatchSource source(config_, corpus, executor_);
    while (state.window < 3) {
      source.go_to(state);
      source.advance(state, source.available(2));
    }
  }
  EXPECT_GT(state.batch, 0);
  const auto batch_from = [&](const TrainingState& from) {
    BatchSource source(config_, corpus, executor_);
    source.go_to(from);
    Batch batch;
    source.assign(0, batch, 1, 1);
    return std::vector<std::int32_t>(batch.source().tokens.begin(), batch.source().tokens.end());
  };
  TrainingState of_an_older_program = state;
  of_an_older_program.window = of_an_older_program.window_begin = 0;
  const auto expected = batch_from(of_an_older_program);
  for (const auto& file : core::list_folder(blocks()))
    if (file.extension() == ".bin") std::filesystem::remove(file);
  log_.clear();
  EXPECT_EQ(batch_from(state), expected);
  std::size_t read = 0;
  for (std::size_t at = log_.find("made anew"); at != std::string::npos; at = log_.find("made anew", at + 1)) ++read;
  EXPECT_EQ(read, 2 * WindowMaker::kWindowBlocks) << "the window, and the next one ahead of time";
}

TEST_F(BlocksOf, HaveTheLengthsOfThePairs) {
  config_.data.subword_sampling = {.on = true};
  for (const Corpus& corpus : {read(), read()}) {  // made, and found
    ASSERT_TRUE(corpus.on_disk());
    EXPECT_EQ(corpus.lengths().source, read(0).lengths().source);
    EXPECT_EQ(corpus.lengths().target, (LengthCounts{{2, 4000}}));
  }
}

TEST_F(BlocksOf, PhasesHaveMixesOfTheirOwn) {
  config_.data.phases = {
      {.until_epoch = 1, .weights = {1, 0}}, {.until_update = 50, .weights = {0, 1}}, {.temperature = 2}};
  for (const std::uint64_t memory : {std::uint64_t{20000}, std::uint64_t{0}}) {
    const Corpus corpus = read(memory);
    EXPECT_EQ(pairs_of(corpus, 0).size(), 3000U);
    // 17 tokens a batch of 50, three batches an update: the phase ends within its epoch.
    const auto second = pairs_of(corpus, 1, 40);
    EXPECT_LT(second.size(), 1000U);
    for (const std::int32_t pair : second) EXPECT_GE(pair, 100000);
    // n^(1/2) are 54.8 and 31.6: 2536 and 1464 of 4000 pairs.
    const auto counts = counts_of(pairs_of(corpus, 2, 50));
    EXPECT_NEAR(std::distance(counts.begin(), counts.lower_bound(100000)), 2536, 1);
  }
}

/// Not when it begins, after days of training.
TEST_F(BlocksOf, APhaseThatHasNoPairIsRefusedAtTheStart) {
  config_.data.phases = {{.until_update = 50, .weights = {1, 1}}, {.weights = {0.0001, 0}}};
  for (const std::uint64_t memory : {std::uint64_t{20000}, std::uint64_t{0}}) {
    const Corpus corpus = read(memory);
    EXPECT_THROW(BatchSource(config_, corpus, executor_), core::Error);
    config_.data.phases[1].weights[0] = 0.0002;  // of 3,000 pairs it is one
    EXPECT_NO_THROW(BatchSource(config_, corpus, executor_));
    config_.data.phases[1].weights[0] = 0.0001;
  }
}

TEST(WeightsByTemperature, AreThoseOfTheFormula) {
  EXPECT_THAT(weights_by_temperature({900, 100, 0}, 1), ElementsAre(1, 1, 0));
  const auto weights = weights_by_temperature({900, 100}, 2);  // 30 : 10
  EXPECT_NEAR(weights[0], 750.0 / 900, 1e-6);
  EXPECT_NEAR(weights[1], 2.5, 1e-6);
}

TEST(PhaseOf, IsTheFirstWhoseEndIsNotReached) {
  const std::vector<PhaseConfig> phases{{.until_epoch = 2}, {.until_update = 100}, {}};
  EXPECT_EQ(phase_of(phases, 1, 500), 0U);
  EXPECT_EQ(phase_of(phases, 2, 99), 1U);
  EXPECT_EQ(phase_of(phases, 2, 100), 2U);
  EXPECT_EQ(phase_of({}, 2, 100), 0U);
}

TEST(BlockBytes, AreReadAsTheyWereWrittenAndCutOnesRefused) {
  EncodedBlock block;
  block.source.append(std::vector<std::int32_t>{1, 2, 3});
  block.target.append(std::vector<std::int32_t>{4});
  block.source_text.append("abc");
  block.target_text.append("");
  const std::string bytes = to_bytes(block);
  EXPECT_EQ(to_bytes(read_block(bytes, "x")), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(read_block(std::string_view(bytes).substr(0, size), "x"), core::Error) << size;
  EXPECT_THROW(read_block(bytes + "x", "x"), core::Error);
}

TEST(BlockBytes, LinksAreReadAsTheyWereWrittenAndOthersRefused) {
  const auto bytes_of = [](std::vector<std::int32_t> links) {
    EncodedBlock block;
    block.source.append(std::vector<std::int32_t>{1, 2, 3});
    block.target.append(std::vector<std::int32_t>{4, 5});
    block.links.append(links);
    return to_bytes(block);
  };
  const std::string bytes = bytes_of({0, 0, 0, 2, 1, 1});
  EXPECT_EQ(to_bytes(read_block(bytes, "x")), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(read_block(std::string_view(bytes).substr(0, size), "x"), core::Error) << size;
  for (const auto& links :
       std::vector<std::vector<std::int32_t>>{{0}, {2, 0}, {0, 3}, {-1, 0}, {0, -1}, {1, 0, 0, 0}, {0, 1, 0, 1}})
    EXPECT_THROW(read_block(bytes_of(links), "x"), core::Error) << links.size();
}

TEST(TrainingOnBlocks, ResumesToTheBytesOfAnUninterruptedRun) {
  TemporaryFolder folder;
  const SmallTask task(folder.path(), 20000);
  const auto config = [&](const std::string& run) {
    return task.config({"output=" + task.file(run).string(), "data.memory=1MiB", "training.updates=60",
                        "training.batch_tokens=800", "training.accumulate=2", "data.phases=[{until_update: 20}, {}]"});
  };
  train(config("whole"));
  EXPECT_EQ(core::list_folder(task.file("whole/blocks")).size(), 1U);
  StopAt stop(33);
  EXPECT_THROW(train(config("cut"), StartMode::kFresh, stop.source.get_token(), stop.environment), core::Error);
  train(config("cut"), StartMode::kResume);
  EXPECT_EQ(task.checkpoint_bytes("cut", 60), task.checkpoint_bytes("whole", 60));
}

/// What reports show of a run.
TEST(TrainingOnBlocks, HasTheLengthsInItsAccountOfTheData) {
  TemporaryFolder folder;
  const SmallTask task(folder.path(), 20000);
  for (const std::string memory : {"1MiB", "1GiB"})
    train(task.config({"output=" + task.file(memory).string(), "data.memory=" + memory, "training.updates=1"}));
  EXPECT_TRUE(std::filesystem::exists(task.file("1MiB/blocks")));
  EXPECT_FALSE(std::filesystem::exists(task.file("1GiB/blocks")));
  const core::Json account = core::load_json(task.file("1MiB/data.json").string());
  EXPECT_GT(account["train"]["source"].size(), 3U);
  EXPECT_EQ(account, core::load_json(task.file("1GiB/data.json").string()));
}

class TextsIn : public ::testing::Test {
 protected:
  TrainingConfig config(const std::string& train, const std::string& more = {}) const {
    core::Json tree = task_.tree();
    tree["data"]["train"] = core::parse_yaml(train, "train");
    if (!more.empty()) tree["data"].merge_patch(core::parse_yaml(more, "more"));
    return read_training_config(tree, "c.yml");
  }
  std::string error_of(const std::string& train, const std::string& more = {}) const {
    try {
      config(train, more);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }
  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
};

TEST_F(TextsIn, AConfigurationAreReadAndWritten) {
  const std::string list =
      "[{source: [a, b], target: [c, d], weight: 2, tag: <BT>}, {tsv: e.tsv, source_column: 3, target_column: 1}, "
      "{jsonl: f, source_key: x.de, target_key: x.en, source_language: deu, target_language: eng}]";
  const TrainingConfig read = config(list, "phases: [{until_epoch: 2, weights: [1, 0, 0.5]}, {temperature: 5}]");
  ASSERT_EQ(read.data.train.texts.size(), 3U);
  EXPECT_EQ(read.data.train.texts[0].files[1].target, "d");
  EXPECT_EQ(read.data.train.texts[1].files[0].source_column, 3U);
  const TrainingConfig again = read_training_config(to_json(read), "again");
  EXPECT_EQ(again.data.train.texts, read.data.train.texts);
  EXPECT_EQ(again.data.phases, read.data.phases);
}

TEST_F(TextsIn, WhatMakesNoSenseIsRefusedByName) {
  EXPECT_THAT(error_of("[{source: a, target: b, tsv: c}]"),
              AllOf(HasSubstr("train[0]"), HasSubstr("one of the three")));
  EXPECT_THAT(error_of("[{tsv: a, colum: 3}]"), HasSubstr("colum"));
  EXPECT_THAT(error_of("[{tsv: a, source_column: 2}]"), HasSubstr("both column 2"));
  EXPECT_THAT(error_of("[{tsv: '-'}, {jsonl: '-'}]"), HasSubstr("standard input"));
  EXPECT_THAT(error_of("[{tsv: a, weight: 2}]", "temperature: 5"), HasSubstr("data.temperature"));
  EXPECT_THAT(error_of("{tsv: a}", "phases: [{weights: [1]}, {weights: [1]}]"), HasSubstr("phases[0]"));
  EXPECT_THAT(error_of("{tsv: a}", "phases: [{until_epoch: 1, weights: [1, 2]}, {}]"), HasSubstr("list of 1 numbers"));
  EXPECT_THAT(error_of("{tsv: a}", "memory: 5 bits"), HasSubstr("500MB"));
  EXPECT_THAT(error_of("{tsv: a}", "cache: x"), HasSubstr("data.memory"));
  EXPECT_THAT(error_of("{tsv: '-'}", "{cache: x, memory: 1GB}"), HasSubstr("standard input"));
  EXPECT_THAT(error_of("{tsv: a}", "{bpe_dropout: 0.1, subword_regularization: {}}"), HasSubstr("leave one out"));
}

TEST_F(TextsIn, TrainingTakesColumnsAndTags) {
  std::string tsv;
  core::LineReader source(task_.file("train.source")), target(task_.file("train.target"));
  for (std::string s, t; source.next(s) && target.next(t);) tsv += t + "\t" + s + "\n";
  core::write_file(task_.file("train.tsv.gz"), tsv);
  const std::string text = "tsv: " + task_.file("train.tsv.gz").string() + ", source_column: 2, target_column: 1";
  core::Json tree = task_.tree();
  tree["data"]["train"] = core::parse_yaml("[{" + text + "}]", "train");
  tree["output"] = task_.file("columns").string();
  train(read_training_config(tree, "c"));
  train(task_.config());
  EXPECT_EQ(task_.checkpoint_bytes("columns", 24), task_.checkpoint_bytes("run", 24))
      << "the same text in another form";
  tree["data"]["train"] = core::parse_yaml("[{" + text + ", tag: a}]", "train");
  tree["output"] = task_.file("tagged").string();
  train(read_training_config(tree, "c"));
  EXPECT_NE(task_.checkpoint_bytes("tagged", 24), task_.checkpoint_bytes("run", 24));
}

TEST_F(TextsIn, SubwordRegularizationNeedsAUnigramTokenizer) {
  core::Json tree = task_.tree();
  tree["data"]["subword_regularization"] = {{"alpha", 0.3}};
  try {
    train(read_training_config(tree, "c"));
    ADD_FAILURE() << "no error";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("data.subword_regularization"), HasSubstr("data.bpe_dropout")));
  }
}

}  // namespace
}  // namespace dragoman::training
