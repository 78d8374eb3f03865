#include "tiny_model.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/yaml.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::pipeline {
namespace {

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
  Translator translator(model_.path(), host_, [] {
    TranslateOptions options;
    options.decoding.beam_size = 2;
    return options;
  }());
  const std::string a = translator.translate("the cat ");
  const std::string b = translator.translate("the cat sat");
  std::string expected;
  for (int i = 0; i < 300; ++i) expected += (i % 3 == 0 ? a : b) + "\n";
  EXPECT_EQ(output(), expected);
}

TEST_F(PipelineTest, EncodeThenDecodeIsTheIdentity) {
  const std::string text = "the cat  sat\n\n ein Hund \n";
  write("in", text);
  const std::string tokenizer = (model_.path() / "tokenizer.json").string();
  run(stages("  - encode: {tokenizer: " + tokenizer + ", format: ids}\n  - decode: {tokenizer: " + tokenizer + "}\n"));
  EXPECT_EQ(output(), text);
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
  EXPECT_THAT(error_of("stages:\n  - split: {locale: de}\n"), HasSubstr("needs a read stage"));
  EXPECT_THAT(error_of(stages("  - translate: {model: /nonexistent}\n")), HasSubstr("/nonexistent"));
}

TEST_F(PipelineTest, EmptyInputGivesEmptyOutput) {
  write("in", "");
  EXPECT_EQ(run(stages(translate_stage())).lines, 0U);
  EXPECT_EQ(output(), "");
}

}  // namespace
}  // namespace dragoman::pipeline
