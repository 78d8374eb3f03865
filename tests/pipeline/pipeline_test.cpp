#include "pipeline_fixture.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/line_coding.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace dragoman::pipeline
