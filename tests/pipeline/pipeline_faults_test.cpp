#include "no_more_threads.h"
#include "pipeline_fixture.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/pipeline/input_notes.h>
#include <dragoman/pipeline/pipeline.h>

namespace dragoman::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST_F(PipelineTest, TooManyStagesAreRefused) {
  write("in", "a\n");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "  - normalize: {}\n";
  EXPECT_THAT(error_of(stages(many)), HasSubstr("test.yml: stages: 1002 of them; a pipeline has at most 1000"));
}

/// Returns the input lines that the notes of an interrupted run vouch for.
std::vector<std::uint64_t> lines_of(const std::vector<std::string>& notes) {
  std::vector<std::uint64_t> lines;
  for (const InputPoint& point : known_points(notes)) lines.push_back(point.lines);
  return lines;
}

TEST(InputNotes, NotesOfOtherKindsAreReadOver) {
  const std::vector<std::string> notes = {R"({"long_lines":"cut"})", to_note({.lines = 3, .hash = 7}), "{}",
                                          to_note({.lines = 5, .hash = 8})};
  EXPECT_THAT(lines_of(notes), ::testing::ElementsAre(3, 5));
  EXPECT_EQ(known_points(notes)[1].hash, 8U);
  EXPECT_EQ(vouched_lines(notes), 5U);
}

/// A record of 20 MB that is no JSON costs one note.
TEST(InputNotes, NothingAfterADamagedNoteIsTrusted) {
  std::vector<std::string> notes = {to_note({.lines = 3, .hash = 7}), "damaged", to_note({.lines = 5, .hash = 8})};
  EXPECT_THAT(lines_of(notes), ::testing::ElementsAre(3));
  EXPECT_EQ(vouched_lines(notes), 3U);
  EXPECT_EQ(vouched_lines({"damaged"}), 0U);
}

}  // namespace
}  // namespace dragoman::pipeline
