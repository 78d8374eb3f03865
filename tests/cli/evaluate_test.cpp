#include "program.h"
#include "test_data.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class EvaluateSystems : public ::testing::Test {
 protected:
  void SetUp() override {
    write("reference", "the cat sat on the mat\na b c d e\nit rained all day long\n");
    write("good", "the cat sat on the mat\na b c d e\nit rained all day\n");
    write("poor", "the cat sits on a mat\na b c\nrain all day\n");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }
  Outcome evaluate(const std::string& arguments) const {
    return run_dragoman(folder_.path(), "evaluate --reference reference " + arguments);
  }
  TemporaryFolder folder_;
};

TEST_F(EvaluateSystems, AreATableWithTheFirstAsTheBaseline) {
  const Outcome outcome = evaluate("-i poor good --metrics bleu,ter --paired-bs=100");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("Baseline: poor"), HasSubstr("(p = "), HasSubstr("bs:100|seed:12345")));
  EXPECT_THAT(evaluate("-i poor good --score-only").output, ::testing::Not(HasSubstr("Baseline")));
}

TEST_F(EvaluateSystems, AreAListInJson) {
  const core::Json list = core::parse_json(evaluate("-i poor good --paired-ar=50 --json").output, "output");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_TRUE(list[0]["BLEU"]["p_value"].is_null());
  EXPECT_GT(list[1]["BLEU"]["p_value"].get<double>(), 0);
  const core::Json alone = core::parse_json(evaluate("-i good --json --width 10").output, "output");
  EXPECT_NEAR(list[1]["BLEU"]["score"].get<double>(), alone["score"].get<double>(), 1e-9);
}

TEST_F(EvaluateSystems, WhatDoesNotGoTogetherIsWrongUsage) {
  for (const char* arguments : {"-i good --paired-bs", "-i good poor --confidence", "-i good poor --sentence-level",
                                "-i good poor --baseline poor", "-i good poor --paired-bs --paired-ar", "-i - -"})
    EXPECT_EQ(evaluate(arguments).status, 2) << arguments;
  write("short", "one line\n");
  EXPECT_EQ(evaluate("-i good short --paired-bs").status, 1);
}

class ReportCommand : public EvaluateSystems {};

TEST_F(EvaluateSystems, AHypothesisBehindTheReferenceIsNamed) {
  const Outcome outcome = evaluate("good </dev/null");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, HasSubstr("put the hypothesis before --reference"));
  EXPECT_EQ(evaluate("good <poor").status, 0) << "two references";
}
TEST_F(ReportCommand, WritesAPageOfARunAndRefusesWhatIsNone) {
  std::filesystem::create_directory(folder_.path() / "run");
  write("run/run.json", "{\"configuration\": {\"training\": {\"seed\": 1}}}");
  write("run/metrics.jsonl", "{\"type\":\"training\",\"update\":1,\"loss\":2}\n{\"type\":\"tr");
  const Outcome outcome = run_dragoman(folder_.path(), "report run -o page.html");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("the last line is not complete"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "page.html"));
  EXPECT_THAT(run_dragoman(folder_.path(), "report run -o -").output, HasSubstr("[[1,2.0]]"));
  const Outcome none = run_dragoman(folder_.path(), "report . -o none.html");
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.error, HasSubstr("no run.json"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "none.html"));
  write("run/run.json", "{\"configuration\": {\"trai");
  const Outcome damaged = run_dragoman(folder_.path(), "report run -o none.html");
  EXPECT_EQ(damaged.status, 1);
  EXPECT_THAT(damaged.error, HasSubstr("run/run.json"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "none.html"));
}

}  // namespace
}  // namespace dragoman::testing
