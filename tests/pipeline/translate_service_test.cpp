#include "failing_allocation.h"
#include "no_more_threads.h"
#include "tiny_model.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/scorer.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::pipeline {
namespace {

class TranslateServiceTest : public ::testing::Test {
 protected:
  static std::vector<std::string> lines(std::size_t count) {
    const std::vector<std::string> words = {"the", "cat", "sat", "on", "mat", "dog", "Katze", "und", "z"};
    std::vector<std::string> result;
    for (std::size_t i = 0; i < count; ++i) {
      std::string line;
      for (std::size_t w = 0; w < (i * 7) % 13; ++w) line += (w == 0 ? "" : " ") + words[(i + 3 * w) % words.size()];
      result.push_back(line);
    }
    return result;
  }
  std::vector<std::string> translate(const std::vector<std::string>& input, const TranslateOptions& options,
                                     const ModelOptions& model = {.threads = 1}) {
    return Translator(Model(model_.path(), host_, model), options).translate(input);
  }
  dragoman::testing::TinyModel model_;
  plugins::Host host_;
};

TEST_F(TranslateServiceTest, ResultsDoNotDependOnThreadsRowsBatchesOrOrder) {
  const std::vector<std::string> input = lines(60);
  for (const char* strategy : {"beam", "greedy", "sampling"}) {
    TranslateOptions options;
    options.search.decoder = strategy;
    const std::vector<std::string> expected = translate(input, options);
    ASSERT_EQ(expected.size(), input.size());
    for (const auto& [threads, rows, tokens] : {std::tuple{2, 64, 2048}, {3, 4, 16}, {1, 1, 1}, {2, 9, 50}}) {
      const ModelOptions other{.threads = threads, .limits = {.maximum_rows = rows, .maximum_encoder_tokens = tokens}};
      EXPECT_EQ(translate(input, options, other), expected)
          << strategy << " " << threads << " " << rows << " " << tokens;
    }
    if (options.search.decoder == "sampling") continue;  // its draws are keyed by the line's number
    std::vector<std::string> reversed(input.rbegin(), input.rend());
    std::vector<std::string> results = translate(reversed, options);
    std::reverse(results.begin(), results.end());
    EXPECT_EQ(results, expected) << strategy;
  }
}

TEST_F(TranslateServiceTest, CallersOnDifferentThreadsWithDifferentOptionsGetWhatTheyGetAlone) {
  const std::vector<std::string> input = lines(40);
  std::vector<RecordOptions> options(4);
  options[1].search = {.decoder = "greedy"};
  options[2].plan = std::make_shared<const decoding::SearchPlan>(
      decoding::DecodingOptions{.strategy = "sampling", .sampling = {.temperature = 1.5, .seed = 8}});
  options[3].search = {.beam_size = 7};
  std::vector<std::vector<std::string>> expected;
  for (const RecordOptions& own : options)
    expected.push_back(Translator(Model(model_.path(), host_, {.threads = 1}), {}).translate(input, own));
  EXPECT_NE(expected[0], expected[1]);
  Translator shared(Model(model_.path(), host_, {.threads = 2}), {});
  std::vector<std::vector<std::string>> found(options.size());
  {
    std::vector<std::jthread> callers;
    for (std::size_t caller = 0; caller < options.size(); ++caller)
      callers.emplace_back([&, caller] { found[caller] = shared.translate(input, options[caller]); });
  }
  EXPECT_EQ(found, expected);
}

TEST_F(TranslateServiceTest, SubmittedRecordsComeBackOnce) {
  const std::vector<std::string> input = lines(60);
  const std::vector<std::string> expected = translate(input, {});
  std::vector<std::string> found(input.size());
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t done = 0;
  Translator translator(Model(model_.path(), host_, {.threads = 2}), {});
  for (std::size_t i = 0; i < input.size(); ++i) {
    Record record;
    record.line = i + 1;
    record.text = input[i];
    translator.submit(std::move(record), {}, [&, i](const TranslatedRecord& result) {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(result.error, nullptr);
      found[i] = result.record.text;
      ++done;
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return done == input.size(); }));
  EXPECT_EQ(found, expected);
}

/// A caller that waits for the end of a record would otherwise wait for ever.
TEST_F(TranslateServiceTest, ARecordEndsAlsoWithoutMemory) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::string> input = lines(8);
  const Model model(model_.path(), host_, {.threads = 1});
  for (std::int64_t first = 1, allocations = kAll; first <= allocations; first += first < 100 ? 1 : 23) {
    Translator translator(model, {});
    std::atomic<std::size_t> ended = 0;
    std::size_t submitted = 0;
    {
      const dragoman::testing::FailingAllocations failing(first, kAll);
      for (const std::string& line : input) {
        Record record;
        record.line = ++submitted;
        record.text = line;
        translator.submit(std::move(record), {}, [&](const TranslatedRecord&) { ++ended; });
      }
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (ended < submitted && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      allocations = failing.count();
    }
    ASSERT_EQ(ended, submitted) << "allocation " << first << " failed";
  }
}

/// What has been told of a record, in the order of the calls.
struct ToldOfRecord {
  std::mutex mutex;
  std::vector<std::string> texts;
  std::vector<std::string> previews;
  std::string joined;
  std::map<std::size_t, std::string> sentences;
  std::size_t count = 0;

  void watch(RecordOptions& options) {
    options.on_partial = [this](const PartialRecord& partial) {
      const std::lock_guard lock(mutex);
      texts.emplace_back(partial.text);
      joined += partial.more;
      EXPECT_EQ(joined, partial.text);
      previews.emplace_back(joined + partial.tail());
    };
    options.on_sentence = [this](const TranslatedSentence& sentence) {
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(sentences.emplace(sentence.index, sentence.translation).second);
      count = sentence.count;
    };
  }
};

TEST_F(TranslateServiceTest, ASessionDoesNotWaitForTheRecordsOfAnother) {
  constexpr int kMany = 400;
  Translator translator(Model(model_.path(), host_, {.threads = 1}), {});
  std::atomic<int> done = 0;
  std::promise<int> done_before;
  {
    Translator::Session many(translator);
    Translator::Session one(translator);
    const auto record = [](std::uint64_t line) {
      Record made;
      made.line = line;
      made.text = "the cat sat on the mat";
      return made;
    };
    for (int i = 0; i < kMany; ++i) many.submit(record(1), {}, [&](TranslatedRecord) { ++done; });
    one.submit(record(2), {}, [&](TranslatedRecord) { done_before.set_value(done); });
    EXPECT_LT(done_before.get_future().get(), kMany - 50);
  }
  EXPECT_EQ(done, kMany) << "a session that ends has called every callback";
}

TEST_F(TranslateServiceTest, WhatIsToldOfARecordOnTheWayIsWhatItsTextBeginsWith) {
  for (const auto& [strategy, replaces_unknown] :
       {std::pair{"greedy", false}, {"sampling", false}, {"beam", false}, {"sampling", true}}) {
    TranslateOptions translate_options{};
    translate_options.search.decoder = strategy;
    translate_options.search.temperature = 1.5;
    translate_options.search.replace_unknown = replaces_unknown;
    Translator translator(Model(model_.path(), host_, {.threads = 3}), translate_options);
    std::size_t told_early = 0;
    for (const std::string& text : lines(30)) {
      Record record;
      record.line = 3;
      record.text = text + "; " + text;
      // Two sentences with text between them, which two workers may translate at a time.
      if (!text.empty()) record.sentences = {{0, text.size()}, {text.size() + 2, record.text.size()}};
      const std::string expected = translator.translate(std::vector<Record>{record}).front().text;
      ToldOfRecord told;
      RecordOptions options;
      told.watch(options);
      const Record result = translator.submit(record, options).get();
      EXPECT_EQ(result.text, expected) << "being watched changes nothing";
      std::string before;
      for (std::size_t i = 0; i < told.texts.size(); ++i) {
        EXPECT_TRUE(told.texts[i].starts_with(before)) << strategy;
        EXPECT_TRUE(told.previews[i].starts_with(told.texts[i])) << strategy;
        before = told.texts[i];
      }
      EXPECT_TRUE(result.text.starts_with(before)) << strategy;
      EXPECT_EQ(told.sentences.size(), text.empty() ? (expected.empty() ? 0U : 1U) : told.count);
      for (const auto& [index, sentence] : told.sentences) EXPECT_NE(result.text.find(sentence), std::string::npos);
      told_early += told.texts.size();
    }
    EXPECT_GT(told_early, 30U) << strategy;
  }
}

TEST_F(TranslateServiceTest, FuturesGiveTextsRecordsAndErrors) {
  Translator translator(Model(model_.path(), host_, {.threads = 2}), {});
  std::vector<std::future<std::string>> futures;
  for (const std::string& line : lines(20)) futures.push_back(translator.submit(line));
  std::vector<std::string> found;
  for (auto& future : futures) found.push_back(future.get());
  std::vector<std::string> expected;
  for (const std::string& line : lines(20)) expected.push_back(translator.translate(line));
  EXPECT_EQ(found, expected);
  std::stop_source stop;
  RecordOptions cancelled{.stop = stop.get_token()};
  cancelled.on_partial = [&](const PartialRecord&) { stop.request_stop(); };
  cancelled.search = {.decoder = "greedy", .minimum_length = 20};
  auto ends = translator.submit("the cat sat on the mat", cancelled);
  auto goes_on = translator.submit("the cat sat on the mat");
  try {
    ends.get();
    FAIL() << "a cancelled request has a result";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInterrupted);
  }
  EXPECT_EQ(goes_on.get(), translator.translate("the cat sat on the mat"));
  std::optional<std::future<std::string>> orphan;
  {
    Translator gone(Model(model_.path(), host_, {.threads = 1}), {});
    for (int i = 0; i < 50; ++i) orphan = gone.submit("the cat sat on the mat");
  }
  ASSERT_EQ(orphan->wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST_F(TranslateServiceTest, ATranslatorThatGoesEndsWhatIsUnderWay) {
  std::atomic<int> interrupted = 0;
  std::atomic<int> called = 0;
  constexpr int kRecords = 300;
  {
    Translator translator(Model(model_.path(), host_, {.threads = 1}), {});
    for (int i = 0; i < kRecords; ++i) {
      Record record;
      record.text = "the cat sat on the mat";
      translator.submit(std::move(record), {}, [&](const TranslatedRecord& result) {
        ++called;
        interrupted += result.error != nullptr ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(called, kRecords);
  EXPECT_GT(interrupted, 0);
}

TEST_F(TranslateServiceTest, OptionsThatTheModelCannotFollowAreRefusedAtOnce) {
  TranslateOptions options;
  options.search.suppress_tokens = std::vector<std::vector<std::int32_t>>{{1000000}};
  const Model model(model_.path(), host_);
  EXPECT_THROW(Translator(model, options), core::Error);
  options = {};
  options.make_further_processors = [](const nn::SequenceSpec&) -> decoding::LogitsProcessors {
    core::fail(core::ErrorCode::kBadInput, "no such word");
  };
  EXPECT_THROW(Translator(model, options), core::Error);
}

TEST_F(TranslateServiceTest, ScoresDoNotDependOnThreadsOrCompany) {
  const std::vector<std::string> input = lines(50);
  std::vector<LinePair> pairs;
  for (std::size_t i = 0; i + 1 < input.size(); ++i)
    pairs.push_back({input[i].substr(0, 15), input[i + 1].substr(0, 15), "pair"});
  Scorer one(Model(model_.path(), host_, {.threads = 1}), {});
  Scorer several(Model(model_.path(), host_, {.threads = 3}), {});
  const std::vector<LineScore> together = several.score(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const LineScore alone = one.score({pairs[i]}).front();
    EXPECT_EQ(together[i].score, alone.score);
    EXPECT_EQ(together[i].token_log_probabilities, alone.token_log_probabilities);
    EXPECT_EQ(together[i].pieces.size() + 1, alone.token_log_probabilities.size());
  }
  pairs[3].source = std::string(100, 'z');
  pairs[3].where = "here";
  try {
    several.score(pairs);
    FAIL() << "it is longer than the model takes";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("here: "));
  }
}

TEST_F(TranslateServiceTest, EmptyAndBlankLinesStayEmpty) {
  const auto results = translate({"", "   ", "the cat", "\t", "\u00A0", "\u3000\u2003", "\u0085 \u2028", "\v\f\r"}, {});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string expected = i == 2 ? results[i] : "";
    EXPECT_EQ(results[i], expected) << i;
  }
}

TEST_F(TranslateServiceTest, WhateverALineHoldsItGivesOneLine) {
  std::string megabyte;
  while (megabyte.size() < 20000) megabyte += "the dog sat on the log ";
  const std::vector<std::string> nasty = {megabyte,
                                          std::string(5000, 'x'),
                                          std::string("a\0b", 3),
                                          "\xFF\xFE",
                                          "\xE2\x96\x81",
                                          "<s> </s> <unk>",
                                          "😀 ñ 你好",
                                          "\xEF\xBB\xBF"
                                          "bom",
                                          "a\rb"};
  const auto results = translate(nasty, {}, {.threads = 2});
  ASSERT_EQ(results.size(), nasty.size());
  for (const std::string& result : results) EXPECT_EQ(result.find('\n'), std::string::npos);
}

TEST_F(TranslateServiceTest, SentencesAreTranslatedApartAndJoined) {
  Translator translator(Model(model_.path(), host_, {.threads = 1}), {});
  Record record;
  record.line = 1;
  record.text = "the cat.  the dog.";
  record.sentences = {{0, 8}, {10, 18}};
  const Record result = translator.translate(std::vector<Record>{record}).front();
  EXPECT_EQ(result.text, translator.translate("the cat.") + "  " + translator.translate("the dog."));
}

TEST_F(TranslateServiceTest, DetailsHoldScoresTokensAndAlternatives) {
  TranslateOptions options{.details = true};
  options.search.n_best = 3;
  Translator translator(Model(model_.path(), host_), options);
  Record record;
  record.line = 1;
  record.text = "the cat sat";
  const Record result = translator.translate(std::vector<Record>{record}).front();
  ASSERT_EQ(result.fields["n_best"].size(), 3U);
  EXPECT_EQ(result.fields["source"], "the cat sat");
  EXPECT_EQ(result.fields["n_best"][0]["translation"], result.text);
  EXPECT_GE(result.fields["n_best"][0]["score"].get<double>(), result.fields["n_best"][1]["score"].get<double>());
  double sum = 0;
  for (const double value : result.fields["token_log_probabilities"]) sum += value;
  EXPECT_NEAR(sum, result.fields["log_probability"].get<double>(), 1e-5);
}

/// Of some plugin: it asks for nonsense in the second line.
class BadInSecondLine final : public decoding::LogitsProcessor {
 public:
  void apply(const decoding::SentenceState& state, const decoding::LiveHypothesis&,
             decoding::RowEdits& edits) override {
    if (state.sentence.line / 4096 == 2) edits.penalise(5, 0);
  }
};

class ListSource final : public RecordSource {
 public:
  std::optional<Record> next() override {
    if (line_ == 3) return std::nullopt;
    Record record;
    record.line = ++line_;
    record.text = "the cat sat";
    return record;
  }

 private:
  std::uint64_t line_ = 0;
};
class ListSink final : public RecordSink {
 public:
  bool put(Record record) override {
    records.push_back(std::move(record));
    return true;
  }
  std::vector<Record> records;
};

TEST_F(TranslateServiceTest, WhatMakesNoSenseForOneRecordFailsThatRecordAlone) {
  const Model model(model_.path(), host_);
  TranslateOptions options;
  options.make_further_processors = [](const nn::SequenceSpec&) {
    decoding::LogitsProcessors processors;
    processors.push_back(std::make_unique<BadInSecondLine>());
    return processors;
  };
  TranslateService service(model, options);
  ListSource source;
  ListSink sink;
  service.run(source, sink, std::stop_source());
  ASSERT_EQ(sink.records.size(), 3U);
  EXPECT_FALSE(sink.records[0].failed());
  EXPECT_THAT(sink.records[1].message, ::testing::HasSubstr("changes the token 5 by the penalty 0"));
  EXPECT_FALSE(sink.records[2].failed());
  EXPECT_EQ(sink.records[2].text, sink.records[0].text);
}

/// A source that never ends on its own.
class EndlessSource final : public RecordSource {
 public:
  std::optional<Record> next() override {
    Record record;
    record.line = ++line_;
    record.text = "the cat sat on the mat";
    return record;
  }

 private:
  std::uint64_t line_ = 0;
};

class OrderedSink final : public RecordSink {
 public:
  explicit OrderedSink(std::stop_source& stop) : stop_(&stop) {}
  bool put(Record record) override {
    EXPECT_EQ(record.line, ++lines);
    if (lines == 20) stop_->request_stop();
    return true;
  }
  std::uint64_t lines = 0;

 private:
  std::stop_source* stop_;
};

TEST_F(TranslateServiceTest, AStopEndsAnEndlessRunAndWhatCameIsInOrder) {
  const Model model(model_.path(), host_, {.threads = 2});
  TranslateService service(model, {});
  std::stop_source stop;
  EndlessSource source;
  OrderedSink sink(stop);
  service.run(source, sink, stop);
  EXPECT_GE(sink.lines, 20U);
}

class ThrowingSink final : public RecordSink {
 public:
  bool put(Record) override { throw core::Error(core::ErrorCode::kIo, "disk full"); }
};

TEST_F(TranslateServiceTest, AnErrorBehindItReachesTheCaller) {
  const Model model(model_.path(), host_, {.threads = 2});
  TranslateService service(model, {});
  EndlessSource source;
  ThrowingSink sink;
  EXPECT_THROW(service.run(source, sink, std::stop_source()), core::Error);
}

/// Gives some records and then waits until the run is stopped, as a pipe does that stays silent.
class SilentSource final : public RecordSource {
 public:
  SilentSource(std::stop_token stop, std::uint64_t records) : stop_(std::move(stop)), records_(records) {}
  std::optional<Record> next() override {
    if (line_ < records_) {
      Record record;
      record.line = ++line_;
      record.text = "the cat";
      return record;
    }
    std::unique_lock lock(mutex_);
    never_.wait(lock, stop_, [] { return false; });
    return std::nullopt;
  }

 private:
  std::stop_token stop_;
  std::uint64_t records_;
  std::uint64_t line_ = 0;
  std::mutex mutex_;
  std::condition_variable_any never_;
};

TEST_F(TranslateServiceTest, AnErrorBehindItEndsASourceThatWaits) {
  const Model model(model_.path(), host_, {.threads = 2});
  TranslateService service(model, {});
  const std::stop_source stop;
  SilentSource source(stop.get_token(), 1);
  ThrowingSink sink;
  EXPECT_THROW(service.run(source, sink, stop), core::Error);
}

/// Takes a few records and no more.
class ClosingSink final : public RecordSink {
 public:
  bool put(Record) override { return ++lines < 5; }
  int lines = 0;
};

TEST_F(TranslateServiceTest, ASinkThatTakesNoMoreEndsASourceThatWaits) {
  const Model model(model_.path(), host_, {.threads = 2});
  TranslateService service(model, {});
  const std::stop_source stop;
  SilentSource source(stop.get_token(), 10);
  ClosingSink sink;
  service.run(source, sink, stop);
  EXPECT_EQ(sink.lines, 5);
}

TEST_F(TranslateServiceTest, WithoutThreadsThereIsAnError) {
  const Model model(model_.path(), host_, {.threads = 2});
  TranslateService service(model, {});
  EndlessSource source;
  ClosingSink sink;
  const dragoman::testing::NoMoreThreads refused;
  try {
    service.run(source, sink, std::stop_source());
    FAIL() << "it ran without threads";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("cannot start a thread"));
  }
}

TEST_F(TranslateServiceTest, RefusesMoreThreadsThanAnyMachineHas) {
  EXPECT_THROW(Model(model_.path(), host_, {.threads = 100000}), core::Error);
}

TEST_F(TranslateServiceTest, ANonFiniteWeightIsRefusedByName) {
  model_.damage("decoder", std::numeric_limits<float>::quiet_NaN());
  try {
    const Model model(model_.path(), host_);
    FAIL() << "the NaN was not seen";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kBadInput);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("model.safetensors: the tensor 'decoder"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("holds nan at ["));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("`allow_non_finite`"));
  }
}

TEST_F(TranslateServiceTest, ScoresThatAreNotFiniteFailTheLineAndSayWhy) {
  model_.damage("encoder", std::numeric_limits<float>::infinity());
  for (const char* strategy : {"beam", "greedy", "sampling"}) {
    TranslateOptions options;
    options.search.decoder = strategy;
    Translator translator(Model(model_.path(), host_, {.threads = 1, .allow_non_finite = true}), options);
    Record record;
    record.line = 1;
    record.text = "the cat sat";
    const Record result = translator.translate(std::vector<Record>{record}).front();
    EXPECT_TRUE(result.failed()) << strategy;
    EXPECT_THAT(result.message, ::testing::HasSubstr("not finite")) << strategy;
  }
}

/// What a call leaves out of its options is as the translator's say, however the record is handed over.
TEST_F(TranslateServiceTest, ASubmittedRecordIsTranslatedAsOneOfACall) {
  AttentionSettings attention;
  attention.kind = decoding::AttentionKind::kCross;
  for (const TranslateOptions& options :
       {TranslateOptions{.details = true}, TranslateOptions{.details = true, .attention = attention},
        TranslateOptions{.target_prefix = "the log"}, TranslateOptions{.details = true, .ignore_line_options = true},
        TranslateOptions{.constraints = {"log"}}}) {
    Translator translator(Model(model_.path(), host_), options);
    Record record;
    record.line = 1;
    record.text = "the cat sat";
    record.fields = {{"target_prefix", "the dog"}, {"id", 7}};
    const Record called = translator.translate(std::vector<Record>{record}).front();
    const Record submitted = translator.submit(record).get();
    EXPECT_EQ(submitted.text, called.text);
    EXPECT_EQ(submitted.fields, called.fields);
    EXPECT_EQ(called.fields.contains("score"), options.details);
  }
}

TEST_F(TranslateServiceTest, InputUnderTheNamesOfDetailsIsKeptApart) {
  Translator translator(Model(model_.path(), host_, {.threads = 1}), {.details = true});
  Record record;
  record.line = 1;
  record.text = "the cat sat";
  record.fields = {{"score", "mine"}, {"id", 7}};
  const Record result = translator.translate(std::vector<Record>{record}).front();
  EXPECT_TRUE(result.fields["score"].is_number());
  EXPECT_EQ(result.fields["input"], core::Json({{"score", "mine"}}));
  EXPECT_EQ(result.fields["id"], 7);
}

}  // namespace
}  // namespace dragoman::pipeline
