// Lines of more tokens than the model takes, and runs that go on after an interruption: score, rerank, align, embed.
#include "program.h"

#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

using core::Json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kModel = " --quiet --model '" + in_source("examples/multi30k/model") + "' ";

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class LongLines : public ::testing::Test {
 protected:
  LongLines() {
    for (int i = 0; i < 3000; ++i) long_line_ += "Hund ";
    write("s", {"Ein Hund.", long_line_, "Zwei Hunde."});
    write("t", {"A dog.", "A dog.", "Two dogs."});
    write("long-t", {"A dog.", long_line_, "Two dogs."});
  }
  void write(const std::string& name, const std::vector<std::string>& lines) const {
    std::ofstream file(folder_ / name);
    for (const std::string& line : lines) file << line << "\n";
  }
  Outcome run(const std::string& arguments) const { return run_dragoman(folder_.path(), arguments); }
  std::vector<std::string> lines_of(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << ": " << outcome.error;
    return split_lines(outcome.output);
  }
  std::string content(const std::string& name) const { return file_content(folder_ / name); }

  TemporaryFolder folder_;
  std::string long_line_;
};

TEST_F(LongLines, FailByDefaultAndSayWhatElseCanBeDone) {
  for (const char* files : {"s t", "t long-t"}) {
    const Outcome outcome = run("score" + kModel + files);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, AllOf(HasSubstr("line 2"), HasSubstr("--long-lines")));
  }
  EXPECT_THAT(run("score s t --long-lines some" + kModel).error, HasSubstr("fail, cut, skip"));
}

TEST_F(LongLines, OfAScoreAreSkippedOrCut) {
  write("short-s", {"Ein Hund.", "Zwei Hunde."});
  write("short-t", {"A dog.", "Two dogs."});
  const auto expected = lines_of("score short-s short-t" + kModel);
  for (const char* files : {"s t", "t long-t"}) {
    const std::string pair = std::string(files) == "s t" ? " short-s short-t" : " short-t short-t";
    const auto wanted = lines_of("score" + kModel + pair);
    const auto skipped = lines_of("score --long-lines skip" + kModel + files);
    EXPECT_EQ(skipped, (std::vector<std::string>{wanted[0], "", wanted[1]}));
    const auto cut = lines_of("score --long-lines cut --format jsonl" + kModel + files);
    ASSERT_EQ(cut.size(), 3U);
    EXPECT_EQ(fmt::format("{:.6f}", Json::parse(cut[0])["score"].get<double>()), wanted[0]);
    EXPECT_TRUE(std::isfinite(Json::parse(cut[1])["score"].get<double>()));
    const auto errors = lines_of("score --long-lines skip --format jsonl" + kModel + files);
    EXPECT_THAT(Json::parse(errors[1])["error"].get<std::string>(), HasSubstr("line 2"));
    EXPECT_EQ(Json::parse(errors[1]).size(), 1U);
  }
  EXPECT_EQ(expected.size(), 2U);
  const std::string noisy = "score s t --model '" + in_source("examples/multi30k/model") + "'";
  EXPECT_THAT(run(noisy + " --long-lines skip").error,
              HasSubstr("1 pair of more tokens than the model takes was skipped"));
}

TEST_F(LongLines, OfAListAreSkippedOrCut) {
  const auto list = [](const std::string& first, const std::string& second) {
    return Json{{"text", first},
                {"source", "Ein Hund."},
                {"n_best", {{{"translation", first}, {"score", -9}}, {{"translation", second}, {"score", -9.5}}}},
                {"translation", first},
                {"score", -9}}
        .dump();
  };
  write("lists", {list("A cat swims.", "A dog."), list("A cat swims.", long_line_), list("A cat swims.", "A dog.")});
  EXPECT_THAT(run("rerank lists" + kModel).error, AllOf(HasSubstr("lists: line 2"), HasSubstr("--long-lines")));
  EXPECT_EQ(lines_of("rerank lists --long-lines skip" + kModel),
            (std::vector<std::string>{"A dog.", "A cat swims.", "A dog."}));
  const auto skipped = lines_of("rerank lists --long-lines skip --format jsonl" + kModel);
  EXPECT_THAT(Json::parse(skipped[1])["rerank_error"].get<std::string>(), HasSubstr("line 2"));
  EXPECT_EQ(Json::parse(skipped[1])["n_best"][0].contains("rerank_score"), false);
  const auto cut = lines_of("rerank lists --long-lines cut --format jsonl" + kModel);
  EXPECT_TRUE(Json::parse(cut[1])["n_best"][0].contains("rerank_score"));
}

TEST_F(LongLines, OfEmbeddingsAreSkippedInJsonLines) {
  const auto lines = lines_of("embed s --long-lines skip" + kModel);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(Json::parse(lines[1]).contains("error"));
  EXPECT_EQ(lines[2], lines_of("embed s --long-lines cut" + kModel)[2]);
  EXPECT_THAT(run("embed s --long-lines skip --format npy --output x.npy" + kModel).error, HasSubstr("jsonl"));
}

/// Runs that fail at a long line, and go on behind the lines that they have written.
class ResumedRuns : public LongLines {
 protected:
  ResumedRuns() {
    // More than goes through together.
    std::vector<std::string> sources(1200, "Ein Hund liegt im Gras.");
    std::vector<std::string> targets(1200, "A dog lies in the grass.");
    for (std::size_t i = 0; i < sources.size(); ++i) sources[i] += i % 2 == 0 ? "" : " Ein Mann.";
    sources[1100] = long_line_;
    write("many-s", sources);
    write("many-t", targets);
    sources[3] = "Eine Katze.";
    write("other-s", sources);
  }
  void expect_resumes(const std::string& command, const std::string& other) const {
    const Outcome failed = run(command + " --output out --long-lines fail");
    ASSERT_EQ(failed.status, 1) << failed.error;
    const std::string partial = content("out.partial");
    ASSERT_FALSE(partial.empty()) << command;
    EXPECT_THAT(run(command + " --output out --long-lines skip").error,
                AllOf(HasSubstr("--resume"), HasSubstr("--overwrite")));
    EXPECT_THAT(run(other + " --output out --long-lines skip --resume").error, HasSubstr("out.partial"));
    EXPECT_EQ(content("out.partial"), partial);
    const Outcome resumed = run(command + " --output out --long-lines skip --resume");
    EXPECT_EQ(resumed.status, 0) << resumed.error;
    run(command + " --output whole --long-lines skip");
    EXPECT_EQ(content("out"), content("whole"));
    EXPECT_TRUE(content("out").starts_with(partial));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.partial"));
  }
};

TEST_F(ResumedRuns, OfScore) {
  const std::string command = "score --attention cross --format jsonl" + kModel;
  expect_resumes(command + "many-s many-t", command + "other-s many-t");
  std::filesystem::remove(folder_ / "out");
  expect_resumes(command + "many-s many-t", command + "many-s many-t --length-penalty gnmt");
  EXPECT_THAT(run(command + "s t --resume").error, HasSubstr("--resume needs --output"));
  EXPECT_THAT(run(command + "s t --resume --overwrite --output out").error, HasSubstr("give one of them"));
}

TEST_F(ResumedRuns, OfEmbed) {
  const std::string command = "embed --pooling none" + kModel;
  expect_resumes(command + "many-s", command + "other-s");
}

TEST_F(ResumedRuns, OfRerank) {
  const auto list = [](const std::string& translation) {
    return Json{
        {"source", "Ein Hund."}, {"translation", translation}, {"score", -3}, {"more", std::string(600000, 'x')}}
        .dump();
  };
  write("lists", {list("A dog."), list("Dogs."), list("A dog."), list(long_line_), list("Dog.")});
  write("others", {list("A cat."), list("Dogs."), list("A dog."), list(long_line_), list("Dog.")});
  expect_resumes("rerank lists --format jsonl" + kModel, "rerank others --format jsonl" + kModel);
}

TEST_F(ResumedRuns, OfAlign) {
  const std::string command = "align many-s many-t --output out" + kModel;
  EXPECT_EQ(run(command + "--on-error fail").status, 1);
  ASSERT_FALSE(content("out.partial").empty());
  EXPECT_THAT(run(command + "--resume --units pieces").error, HasSubstr("out.partial"));
  EXPECT_EQ(run(command + "--resume").status, 0);
  EXPECT_EQ(content("out"), run("align many-s many-t" + kModel).output);
}

/// What was cut before is not skipped now.
TEST_F(ResumedRuns, TreatLongLinesAlike) {
  std::vector<std::string> sources = split_lines(content("many-s"));
  for (const std::size_t line : {std::size_t{0}, sources.size() - 1}) sources[line] = long_line_;
  write("many-s", sources);
  const std::vector<std::string> targets = split_lines(content("many-t"));
  write("many-t",
        {targets.begin(), targets.end() - 1});  // ends too early, so that the run fails behind its first lines
  const std::string command = "score --attention cross --format jsonl many-s many-t --output out" + kModel;
  EXPECT_EQ(run(command + "--long-lines cut").status, 1);
  write("many-t", targets);
  EXPECT_THAT(run(command + "--long-lines skip --resume").error, AllOf(HasSubstr("--long-lines"), HasSubstr("cut")));
  EXPECT_EQ(run(command + "--long-lines cut --resume").status, 0);
  EXPECT_EQ(split_lines(content("out")).size(), targets.size());
}

}  // namespace
}  // namespace dragoman::testing
