#include "no_more_threads.h"
#include "tiny_model.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/pipeline/lexicon_builder.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/line_coding.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PipelineTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) {
    const auto path = model_.file(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  LineCounts run(const std::string& yaml, const PipelineOptions& options = {}, const std::stop_token& stop = {}) {
    return make_pipeline(core::parse_yaml(yaml, "test.yml"), "test.yml", host_, 2).run(options, stop);
  }
  std::string error_of(const std::string& yaml) {
    try {
      run(yaml);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "";
  }
  std::string stages(const std::string& middle, const std::string& write_options = "") const {
    return "stages:\n  - read: {path: " + model_.file("in").string() + "}\n" + middle +
           "  - write: {path: " + model_.file("out").string() + write_options + "}\n";
  }
  std::string translate_stage(const std::string& more = "") const {
    return "  - translate: {model: " + model_.path().string() + ", beam-size: 2" + more + "}\n";
  }
  std::string output() const { return dragoman::testing::read_text(model_.file("out")); }

  dragoman::testing::TinyModel model_;
  plugins::Host host_;
};

TEST_F(PipelineTest, MapsAndTranslationKeepOrderAndLines) {
  std::string input;
  for (int i = 0; i < 300; ++i) input += std::string("the cat ") + (i % 3 == 0 ? "" : "SAT") + "\n";
  write("in", input);
  const LineCounts counts = run(stages("  - normalize: {form: nfc, lowercase: true}\n" + translate_stage()));
  EXPECT_EQ(counts.lines, 300U);
  Translator translator(Model(model_.path(), host_, {.compute = tensor::ComputeChoice::kAuto}), [] {
    TranslateOptions options;
    options.search.beam_size = 2;
    return options;
  }());
  const std::string a = translator.translate("the cat ");
  const std::string b = translator.translate("the cat sat");
  std::string expected;
  for (int i = 0; i < 300; ++i) expected += (i % 3 == 0 ? a : b) + "\n";
  EXPECT_EQ(output(), expected);
}

/// Samples too, whose draws are keyed by the number of the line in the whole.
/// Notes how many records come at once.
class Together final : public MapStage {
 public:
  explicit Together(std::vector<std::size_t>& sizes, std::size_t most = 10) : sizes_(sizes), most_(most) {}
  void process(Record&) const override { ADD_FAILURE() << "the records were expected together"; }
  void process_batch(std::span<Record* const> records) const override {
    const std::lock_guard lock(mutex_);
    sizes_.push_back(records.size());
    for (Record* record : records) {
      EXPECT_FALSE(record->failed());
      record->text += "!";
      if (record->line % 7 == 0) record->mark_failed("seven");
    }
  }
  std::size_t batch_size() const override { return most_; }

 private:
  std::vector<std::size_t>& sizes_;
  std::size_t most_;
  mutable std::mutex mutex_;
};

TEST_F(PipelineTest, AStageThatTakesAnyNumberGetsABatchThatFitsIntoMemory) {
  std::string input;
  for (int i = 0; i < 3000; ++i) input += "line\n";
  write("in", input);
  std::vector<std::size_t> sizes;
  Pipeline pipeline;
  pipeline.read({.path = model_.file("in")});
  pipeline.add(std::make_unique<Together>(sizes, std::numeric_limits<std::size_t>::max()));
  pipeline.write({.path = model_.file("out")});
  EXPECT_EQ(pipeline.run({.threads = 1}).lines, 3000U);
  EXPECT_THAT(sizes, ElementsAre(1024U, 1024U, 952U));
}

TEST_F(PipelineTest, AStageGetsTheRecordsThatAreThereAtOnceAndInOrder) {
  std::string input, expected;
  for (int i = 1; i <= 300; ++i) {
    input += fmt::format("line {}\n", i);
    expected += i % 7 == 0 ? "\n" : fmt::format("line {}!!\n", i);
  }
  write("in", input);
  std::vector<std::size_t> first, second;
  Pipeline pipeline;
  pipeline.read({.path = model_.file("in")});
  pipeline.add(std::make_unique<Together>(first));
  pipeline.add(std::make_unique<Together>(second));
  pipeline.write({.path = model_.file("out")});
  const LineCounts counts = pipeline.run({.threads = 3});
  EXPECT_EQ(counts.failed, 300U / 7);
  EXPECT_EQ(output(), expected);
  EXPECT_EQ(std::accumulate(first.begin(), first.end(), std::size_t{0}), 300U);
  EXPECT_EQ(std::accumulate(second.begin(), second.end(), std::size_t{0}), 300U - 300U / 7) << "failed ones pass by";
  EXPECT_EQ(first.size(), 30U) << "a file does not keep its reader waiting";
}

TEST_F(PipelineTest, ShardsJoinedAreTheOutputOfTheWhole) {
  write("in", "the cat\nthe dog sat\n\nein Hund und eine Katze\nthe log\n");
  write("more", "the mat\nthe cat sat on the mat");
  const auto job = [&](const std::string& shard, const std::string& out) {
    return "stages:\n  - read: {path: [" + model_.file("in").string() + ", " + model_.file("more").string() + "]" +
           shard + "}\n  - translate: {model: " + model_.path().string() +
           ", decoder: sampling, temperature: 1.5, details: true}\n  - write: {path: " + model_.file(out).string() +
           ", format: jsonl}\n";
  };
  EXPECT_EQ(run(job("", "out")).lines, 7U);
  for (const int count : {1, 2, 3, 8}) {
    std::string joined;
    for (int i = 1; i <= count; ++i) {
      run(job(fmt::format(", shard: {}/{}", i, count), "part"));
      joined += dragoman::testing::read_text(model_.file("part"));
    }
    EXPECT_EQ(joined, output()) << count;
  }
  EXPECT_THAT(error_of(job(", shard: 4/3", "part")), HasSubstr("shard"));
}

TEST_F(PipelineTest, AShardGoesOnWhereItWasInterrupted) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::string("the cat ") + (i % 7 == 0 ? "sat" : "") + "\n";
  write("in", text);
  const auto job = [&](const std::string& shard, const std::string& more) {
    return "stages:\n  - read: {path: " + model_.file("in").string() + ", shard: " + shard + "}\n" + translate_stage() +
           "  - write: {path: " + model_.file("out").string() + more + "}\n";
  };
  run(job("2/2", ""));
  const std::string expected = output();
  std::filesystem::remove(model_.file("out"));
  std::stop_source stop;
  PipelineOptions options;
  options.progress = [&](const core::Progress& progress) {
    EXPECT_EQ(progress.total, 150U);
    if (progress.done == 40) stop.request_stop();
  };
  EXPECT_THROW(run(job("2/2", ""), options, stop.get_token()), core::Error);
  EXPECT_THAT(error_of(job("1/2", ", resume: true")), HasSubstr("read.shard"));
  run(job("2/2", ", resume: true"));
  EXPECT_EQ(output(), expected);
}

TEST_F(PipelineTest, TheLastReportHasTheLatencies) {
  write("in", "the cat\nthe dog sat\nthe mat\n");
  std::vector<core::Progress> reports;
  PipelineOptions options;
  options.progress = [&](const core::Progress& progress) { reports.push_back(progress); };
  run(stages(translate_stage()), options);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back().done, 3U);
  EXPECT_EQ(reports.back().total, 3U);
  std::vector<std::string> names;
  for (const auto& [name, value] : reports.back().details) {
    names.push_back(name);
    EXPECT_GT(value, 0) << name;
  }
  EXPECT_THAT(names, ::testing::ElementsAre("first_token_ms_p50", "first_token_ms_p95", "first_token_ms_max",
                                            "next_token_ms_p50", "next_token_ms_p95", "next_token_ms_max"));
  EXPECT_EQ(std::ranges::count(reports, 3U, &core::Progress::done), 1);
}

TEST_F(PipelineTest, StreamsOnlyWhatATranslationDecidesAndOnlyToStandardOutput) {
  write("in", "the cat\n");
  const auto job = [&](const std::string& stage, const std::string& write) {
    return "stages:\n  - read: {path: " + model_.file("in").string() + "}\n" + translate_stage() + stage +
           "  - write: {" + write + "}\n";
  };
  EXPECT_THAT(error_of(job("", "stream: true, path: " + model_.file("out").string())), HasSubstr("standard output"));
  EXPECT_THAT(error_of(job("", "stream: true, format: jsonl")), HasSubstr("shows text"));
  EXPECT_THAT(error_of(job("  - normalize: {}\n", "stream: true")), HasSubstr("translate right before"));
}

TEST_F(PipelineTest, EncodeThenDecodeIsTheIdentity) {
  const std::string text = "the cat  sat\n\n ein Hund \n";
  write("in", text);
  const std::string tokenizer = (model_.path() / "tokenizer.json").string();
  run(stages("  - encode: {tokenizer: " + tokenizer + ", format: ids}\n  - decode: {tokenizer: " + tokenizer +
             ", format: ids}\n"));
  EXPECT_EQ(output(), text);
}

/// Lines that no other reader would take for other pieces: of a user symbol that holds a space, and of text that has no
/// piece.
TEST_F(PipelineTest, EncodeAndDecodeWriteAndReadTheLinesOfTheCommands) {
  const std::string text = "ab New York ab\nNew Yorkab 7\n\nab  ab\n";
  write("in", text);
  write("corpus", "ab ab ab New York ab\n");
  const std::filesystem::path path = model_.file("spaced.json");
  tokenizer::learn_bpe({model_.file("corpus")},
                       {.vocab_size = 40, .user_symbols = {"New York"}, .byte_fallback = false})
      .save(path);
  const auto tokenizer = tokenizer::load_tokenizer(path);
  for (const std::string format : {"pieces", "ids"}) {
    core::OutputFile lines(model_.file("lines"), {.partial = core::PartialPolicy::kReplace});
    encode_lines(*tokenizer, model_.file("in"), lines,
                 {.format = format == "ids" ? tokenizer::LineFormat::kIds : tokenizer::LineFormat::kPieces});
    lines.commit();
    const std::string expected = dragoman::testing::read_text(model_.file("lines"));
    const std::string stage = ": {tokenizer: " + path.string() + ", format: " + format + "}\n";
    run(stages("  - encode" + stage));
    EXPECT_EQ(output(), expected);
    if (format == "ids") continue;
    EXPECT_THAT(expected, HasSubstr("New\u2581York"));
    run(stages("  - encode" + stage + "  - decode" + stage));
    EXPECT_EQ(output(), text);
  }
  write("in", "\u2581ab 99999\n");
  const std::string ids = "  - decode: {tokenizer: " + path.string() + ", format: ids}\n";
  EXPECT_EQ(run(stages(ids, ", format: jsonl")).failed, 1U);
  EXPECT_THAT(output(), HasSubstr("byte 1: "));
  // Without an unknown token some texts cannot be encoded.
  tokenizer::learn_bpe({model_.file("corpus")}, {.vocab_size = 40, .special_tokens = {}, .byte_fallback = false})
      .save(path);
  write("in", "ab 7\nab\n");
  EXPECT_EQ(run(stages("  - encode: {tokenizer: " + path.string() + "}\n")).failed, 1U);
  EXPECT_EQ(output(), "\n\u2581ab\n");
}

TEST_F(PipelineTest, JsonlOutputHasScores) {
  write("in", "the cat\n");
  run(stages(translate_stage(", details: true"), ", format: jsonl"));
  const core::Json line = core::parse_json(output(), "output");
  EXPECT_EQ(line["line"], 1);
  EXPECT_EQ(line["source"], "the cat");
  EXPECT_TRUE(line["score"].is_number());
}

TEST_F(PipelineTest, InvalidUtf8IsReplacedAndCounted) {
  write("in", "the \xFF cat\nthe dog\n");
  const LineCounts counts = run(stages(translate_stage()));
  EXPECT_EQ(counts.lines, 2U);
  EXPECT_EQ(counts.with_invalid_utf8, 1U);
}

TEST_F(PipelineTest, AByteOrderMarkIsLeftOutAndToldOnce) {
  const std::string translate = translate_stage();
  write("in", "the cat\nthe dog\n");
  run(stages(translate));
  const std::string expected = output();
  write("in", "\xEF\xBB\xBFthe cat\nthe dog\n");
  const LineCounts counts = run(stages(translate));
  EXPECT_EQ(output(), expected);
  EXPECT_EQ(counts.byte_order_marks, 1U);
  EXPECT_THAT(describe(counts), HasSubstr("1 byte order mark at the start of a file was left out"));
  // The second mark of a file is a character.
  write("more", "\xEF\xBB\xBF\xEF\xBB\xBFthe dog");
  const std::string copy = "stages:\n  - read: {path: [" + model_.file("in").string() + ", " +
                           model_.file("more").string() + "]}\n  - write: {path: " + model_.file("out").string() +
                           "}\n";
  EXPECT_EQ(describe(run(copy)), "2 byte order marks at the starts of files were left out");
  EXPECT_EQ(output(), "the cat\nthe dog\n\xEF\xBB\xBFthe dog\n");
  write("in", "a\nb");
  write("more", "\n");
  EXPECT_EQ(describe(run(copy)), "");
}

TEST_F(PipelineTest, FailedLinesAreEmptyOrEndTheRun) {
  write("in", "{\"source\": \"the cat\"}\nbroken\n{\"source\": \"the dog\"}\n");
  const std::string yaml = "stages:\n  - read: {path: " + model_.file("in").string() + ", format: jsonl}\n" +
                           translate_stage() + "  - write: {path: " + model_.file("out").string() + "}\n";
  EXPECT_EQ(run(yaml).failed, 1U);
  const std::string text = output();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  try {
    run(yaml, {.fail_on_error = true});
    FAIL() << "the broken line went through";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 2"));
  }
}

TEST_F(PipelineTest, WhereEveryLineFailsTheRunDoes) {
  std::string lines;
  for (int i = 0; i < 30; ++i) lines += "no such piece\n";
  write("in", lines);
  const std::string decode =
      "  - decode: {tokenizer: " + (model_.path() / "tokenizer.json").string() + ", format: ids}\n";
  std::vector<std::string> warnings;
  PipelineOptions options;
  options.log = [&](core::LogLevel, std::string_view message) { warnings.emplace_back(message); };
  try {
    run(stages(decode), options);
    FAIL() << "thirty failures are no success";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("each of its 30 lines failed"));
  }
  EXPECT_EQ(warnings.size(), 20U);
  EXPECT_THAT(warnings.back(), HasSubstr("further failures are only counted"));
}

TEST_F(PipelineTest, AnOptionSpelledTwiceAndAnOutputThatIsTheInputAreRefused) {
  write("in", "a\n");
  EXPECT_THAT(error_of(stages("  - translate: {model: m, beam-size: 2, beam_size: 3}\n")),
              HasSubstr("'beam_size' is there twice"));
  const std::string in = model_.file("in").string();
  EXPECT_THAT(error_of("stages:\n  - read: {path: " + in + "}\n  - write: {path: " + in + "}\n"),
              HasSubstr("which it would replace"));
}

TEST_F(PipelineTest, AStoppedRunResumesToTheSameBytes) {
  std::string input;
  for (int i = 0; i < 400; ++i) input += "the cat sat on mat " + std::to_string(i % 10) + "\n";
  write("in", input);
  run(stages(translate_stage()));
  const std::string expected = output();
  std::filesystem::remove(model_.file("out"));

  std::stop_source stop;
  PipelineOptions options;
  options.progress = [&](const core::Progress& progress) {
    if (progress.done == 100) stop.request_stop();
  };
  try {
    run(stages(translate_stage()), options, stop.get_token());
    FAIL() << "the stop was not noticed";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInterrupted);
  }
  EXPECT_FALSE(std::filesystem::exists(model_.file("out")));
  run(stages(translate_stage(), ", resume: true"));
  EXPECT_EQ(output(), expected);
}

TEST_F(PipelineTest, ConfigurationErrorsNameTheStage) {
  write("in", "");
  EXPECT_THAT(error_of("stages: []\n"), HasSubstr("expected a list of stages"));
  EXPECT_THAT(error_of("stagess: []\n"), HasSubstr("test.yml"));
  EXPECT_THAT(error_of(stages("  - translat: {}\n")), HasSubstr("did you mean 'translate'"));
  EXPECT_THAT(error_of(stages("  - translate: {}\n")), HasSubstr("'model' is missing"));
  EXPECT_THAT(error_of(stages("  - split: {local: de}\n")), HasSubstr("did you mean 'locale'"));
  EXPECT_THAT(error_of("stages:\n  - split: {locale: de}\n"),
              HasSubstr("test.yml: stages: a pipeline needs a read stage"));
  EXPECT_THAT(error_of(stages("  - split: {locale: xx}\n")),
              HasSubstr("stage 2 (split): locale: 'xx' is not a language"));
  EXPECT_THAT(error_of(stages("  - translate: {model: /nonexistent}\n")), HasSubstr("/nonexistent"));
}

TEST_F(PipelineTest, AnUnknownStageIsToldWhichThereAre) {
  write("in", "");
  EXPECT_THAT(error_of(stages("  - xyzzy: {}\n")),
              HasSubstr("there are: read, normalize, split, translate, encode, decode, write"));
}

TEST_F(PipelineTest, ColumnsOutOfRangeNameTheStage) {
  write("in", "a\n");
  EXPECT_THAT(error_of(stages("", ", format: tsv, column: 0")),
              HasSubstr("(write): column: is 0; it must be a whole number from 1 to 65536"));
  EXPECT_THAT(error_of("stages:\n  - read: {column: 0}\n  - write: {}\n"),
              HasSubstr("(read): column: is 0; it must be"));
}

TEST_F(PipelineTest, NumbersOutOfRangeNameTheirKeyBeforeTheModelIsLoaded) {
  write("in", "");
  EXPECT_THAT(error_of(stages("  - translate: {model: /nonexistent, beam-size: 0}\n")),
              HasSubstr("beam_size: is 0; it must be a whole number from 1 to 10000"));
  EXPECT_THAT(error_of(stages("  - translate: {model: /nonexistent, threads: -1}\n")),
              HasSubstr("threads: is -1; it must be"));
}

/// Interrupts a translation of 400 lines after 100.
class InterruptedTest : public PipelineTest {
 protected:
  void interrupt(const std::string& more = "") {
    std::stop_source stop;
    PipelineOptions options;
    options.progress = [&](const core::Progress& progress) {
      if (progress.done == 100) stop.request_stop();
    };
    EXPECT_THROW(run(stages(translate_stage(more)), options, stop.get_token()), core::Error);
  }
  static std::string lines(const std::string& word) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "the " + word + " sat on mat " + std::to_string(i % 10) + "\n";
    return text;
  }
  std::string partial() const { return dragoman::testing::read_text(model_.file("out.partial")); }
};

TEST_F(InterruptedTest, IsNotForgottenWithoutResume) {
  write("in", lines("cat"));
  interrupt();
  const std::string kept = partial();
  EXPECT_THAT(error_of(stages(translate_stage())), HasSubstr("`resume`"));
  EXPECT_EQ(partial(), kept);
  run(stages(translate_stage(), ", overwrite: true"));
  EXPECT_EQ(std::filesystem::exists(model_.file("out.partial")), false);
}

TEST_F(InterruptedTest, KnowsTheNumberTypesOfAllModelsOfAnEnsemble) {
  write("in", lines("cat"));
  const std::filesystem::path other = model_.file("other");
  std::filesystem::copy(model_.path(), other);
  core::Json config = core::load_json(other / "config.json");
  config["format_version"] = 2;
  config["compute"] = "bf16";
  core::write_file(other / "config.json", config.dump());
  const std::string together = ", ensemble: [" + other.string() + "], compute: ";
  interrupt(together + "stored");
  for (const char* type : {"fp32", "bf16"})
    EXPECT_THAT(error_of(stages(translate_stage(together + type), ", resume: true")), HasSubstr("translate.compute"));
  run(stages(translate_stage(together + "stored"), ", resume: true"));
}

TEST_F(InterruptedTest, ResumesOnlyTheSameJobAndSaysWhatDiffers) {
  write("in", lines("cat"));
  interrupt();
  const std::string kept = partial();
  EXPECT_THAT(error_of(stages(translate_stage(", n-best: 2, details: true"), ", resume: true")), HasSubstr("n_best"));
  EXPECT_THAT(error_of(stages(translate_stage(), ", format: jsonl, resume: true")), HasSubstr("write.format"));
  EXPECT_THAT(error_of(stages(translate_stage(", compute: bf16"), ", resume: true")), HasSubstr("translate.compute"));
  EXPECT_THAT(error_of(stages("  - normalize: {}\n" + translate_stage(), ", resume: true")), HasSubstr("stages"));
  EXPECT_EQ(partial(), kept);
  // Settings without an effect on results may differ, and the type that `auto` selects may be named.
  const std::string_view type =
      name_of(choice_of(host_.runtime().inference_type(tensor::Device::kCpu, tensor::ComputeChoice::kAuto)));
  run(stages(translate_stage(fmt::format(", threads: 1, rows: 8, batch-tokens: 100, compute: {}", type)),
             ", resume: true"));
  EXPECT_FALSE(std::filesystem::exists(model_.file("out.partial.job")));
}

TEST_F(InterruptedTest, ResumesOnlyTheSameModel) {
  write("in", lines("cat"));
  interrupt();
  model_.damage("decoder", 0.5F);
  EXPECT_THAT(error_of(stages(translate_stage(), ", resume: true")), HasSubstr("translate.model/model.safetensors"));
}

TEST_F(InterruptedTest, ResumesOnlyTheSameInput) {
  write("in", lines("cat"));
  interrupt();
  const std::string kept = partial();
  write("in", lines("dog"));
  EXPECT_THAT(error_of(stages(translate_stage(), ", resume: true")), HasSubstr("are not those that"));
  EXPECT_EQ(partial(), kept);
}

TEST_F(PipelineTest, TheLastReportIsTheTrueTotal) {
  write("in", [] {
    std::string text;
    for (int i = 0; i < 37; ++i) text += "the cat\n";
    return text;
  }());
  std::vector<core::Progress> reports;
  PipelineOptions options;
  options.progress = [&](const core::Progress& progress) { reports.push_back(progress); };
  run(stages(translate_stage()), options);
  EXPECT_EQ(reports.back().done, 37U);
  EXPECT_EQ(reports.back().total, 37U);
  for (const core::Progress& report : reports) EXPECT_GE(report.total, report.done);
}

TEST_F(PipelineTest, AFullDiskEndsTheRunThoughTheInputIsSilent) {
  for (const std::string& middle : {translate_stage(), "  - split: {locale: en}\n" + translate_stage(),
                                    "  - normalize: {}\n" + translate_stage() + "  - normalize: {}\n"}) {
    const auto fifo = model_.file("pipe");
    std::filesystem::remove(fifo);
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::promise<void> ended;
    std::thread feeder([&, end = ended.get_future()] {
      std::ofstream out(fifo);
      out << "the cat\n" << std::flush;
      end.wait();  // holds the pipe open and says nothing while the run is on
    });
    EXPECT_THAT(
        error_of("stages:\n  - read: {path: " + fifo.string() + "}\n" + middle + "  - write: {path: /dev/full}\n"),
        HasSubstr("No space left"));
    ended.set_value();
    feeder.join();
  }
}

TEST_F(PipelineTest, AThreadThatCannotStartIsOneError) {
  write("in", "the cat\n");
  const std::string yaml = stages("  - split: {locale: en}\n" + translate_stage());
  Pipeline pipeline = make_pipeline(core::parse_yaml(yaml, "test.yml"), "test.yml", host_, 2);
  const dragoman::testing::NoMoreThreads refused;
  try {
    pipeline.run({});
    FAIL() << "it ran without threads";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot start a thread"));
  }
}

TEST_F(PipelineTest, EmptyInputGivesEmptyOutput) {
  write("in", "");
  EXPECT_EQ(run(stages(translate_stage())).lines, 0U);
  EXPECT_EQ(output(), "");
}

TEST_F(PipelineTest, WhatNobodySaysComesFromTheModelsFolder) {
  write("in", "the cat sat\nthe dog\nein Hund\n");
  const auto translated = [&](const std::string& options) {
    run("stages:\n  - read: {path: " + model_.file("in").string() + "}\n  - translate: {model: " +
        model_.path().string() + options + "}\n  - write: {path: " + model_.file("out").string() + "}\n");
    return output();
  };
  const std::string usual = translated("");
  const std::string shorter = translated(", maximum-length: 2, no-repeat-ngram: 1");
  ASSERT_NE(usual, shorter);
  formats::write_decoding_defaults(model_.path(), model_.path(), {{"maximum_length", 2}, {"no_repeat_ngram", 1}});
  EXPECT_EQ(translated(""), shorter);
  EXPECT_EQ(translated(", maximum-length: 0, no-repeat-ngram: 0"), usual);
  EXPECT_EQ(translated(", ignore-model-defaults: true"), usual);
  EXPECT_THAT(error_of("stages: [{translate: {model: " + model_.path().string() + ", ignore-model-defaults: 3}}]"),
              HasSubstr("ignore_model_defaults"));
  const std::vector<std::string> lines = {"the cat sat", "the dog", "ein Hund"};
  std::string text;
  for (const std::string& line : Translator(Model(model_.path(), host_)).translate(lines)) text += line + "\n";
  EXPECT_EQ(text, shorter) << "the embedded API, too";
}

TEST_F(PipelineTest, TheModelsOwnShortlistIsUsedUnlessTheUserSaysOtherwise) {
  write("in", "the cat sat\nein Hund\n");
  write("few.s2t", "t a 0.5\n");
  const auto translated = [&](const std::string& options) {
    run("stages:\n  - read: {path: " + model_.file("in").string() + "}\n  - translate: {model: " +
        model_.path().string() + options + "}\n  - write: {path: " + model_.file("out").string() + "}\n");
    return output();
  };
  const std::string few = ", shortlist: " + model_.file("few.s2t").string();
  const std::string whole = translated("");
  const std::string listed = translated(few + ", shortlist-first: 0");
  const std::string longer = translated(few + ", shortlist-first: 300");
  ASSERT_NE(listed, whole);
  ASSERT_NE(listed, longer);
  const auto loaded = plugins::load_model(model_.path(), host_);
  const auto shortlist = decoding::Shortlist::read(
      model_.file("few.s2t"),
      shortlist_vocabularies(loaded.model->spec(), *loaded.source_tokenizer, *loaded.target_tokenizer), {.first = 0});
  formats::write_shortlist(model_.path(), model_.path(), shortlist.to_binary());
  EXPECT_EQ(translated(""), listed);
  EXPECT_EQ(translated(", shortlist: none"), whole);
  EXPECT_EQ(translated(few + ", shortlist-first: 300"), longer);
  EXPECT_EQ(translated(", ignore-model-defaults: true"), whole);
  const std::string together = ", ensemble: [" + model_.path().string() + "]";
  EXPECT_EQ(translated(together), translated(together + ", ignore-model-defaults: true")) << "these have none";
  TranslateOptions usual;
  const std::vector<std::string> lines = {"the cat sat", "ein Hund"};
  const ModelOptions automatic{.compute = tensor::ComputeChoice::kAuto};
  EXPECT_EQ(
      fmt::format("{}\n", fmt::join(Translator(Model(model_.path(), host_, automatic), usual).translate(lines), "\n")),
      listed);
  const Model together_with_itself(model_.path(), host_, automatic, {.models = {model_.path().string()}});
  EXPECT_EQ(fmt::format("{}\n", fmt::join(Translator(together_with_itself, usual).translate(lines), "\n")),
            translated(together));
  EXPECT_THAT(
      error_of("stages: [{translate: {model: " + model_.path().string() + ", shortlist: none, shortlist-first: 3}}]"),
      HasSubstr("shortlist_first: needs a `shortlist`"));
}

TEST_F(PipelineTest, TooManyStagesAreRefused) {
  write("in", "a\n");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "  - normalize: {}\n";
  EXPECT_THAT(error_of(stages(many)), HasSubstr("test.yml: stages: 1002 of them; a pipeline has at most 1000"));
}

}  // namespace
}  // namespace dragoman::pipeline
