#include "meter.h"
#include "test_data.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/report/run_history.h>

namespace dragoman::report {
namespace {

namespace fs = std::filesystem;
using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

TEST(ReadMetrics, MakesSeriesOfAllNumbers) {
  const Metrics metrics = read_metrics(
      R"({"type":"training","update":4,"epoch":0,"loss":3.5,"learning_rate":0.1,"target_tokens":50,"seconds":2})"
      "\n"
      R"({"type":"validation","update":4,"epoch":0,"loss":3,"BLEU":12.5,"signatures":{"BLEU":"nrefs:1"},"best":true})"
      "\n"
      R"({"type":"sample","update":4,"random":true,"source":"a","prediction":"b","reference":"c"})"
      "\n"
      R"({"type":"training","update":8,"epoch":1,"loss":2.5,"target_tokens":60,"seconds":3})"
      "\n");
  EXPECT_THAT(metrics.training.at("loss"), ElementsAre(Pair(4, 3.5), Pair(8, 2.5)));
  EXPECT_THAT(metrics.training.at("learning_rate"), ElementsAre(Pair(4, 0.1)));
  EXPECT_THAT(metrics.training.at("tokens_per_second"), ElementsAre(Pair(4, 25.0), Pair(8, 20.0)));
  EXPECT_EQ(metrics.training.count("epoch") + metrics.training.count("seconds"), 0U);
  EXPECT_THAT(metrics.validation.at("BLEU"), ElementsAre(Pair(4, 12.5)));
  EXPECT_THAT(metrics.best, ElementsAre(4));
  EXPECT_EQ(metrics.signatures.at("BLEU"), "nrefs:1");
  ASSERT_EQ(metrics.samples.size(), 1U);
  EXPECT_EQ(metrics.samples[0].prediction, "b");
  EXPECT_TRUE(metrics.samples[0].random);
  EXPECT_EQ(metrics.last_update, 8);
  EXPECT_DOUBLE_EQ(metrics.seconds, 5);
  EXPECT_EQ(metrics.unreadable, 0U);
  EXPECT_FALSE(metrics.cut);
}

/// Validations measure no label smoothing, so training lines are drawn without it, too, and with it beside that.
TEST(ReadMetrics, GivesTrainingAndValidationTheSameLoss) {
  const Metrics metrics =
      read_metrics(R"({"type":"training","update":1,"loss":4,"cross_entropy":3.5,"perplexity":33.1154519587})"
                   "\n"
                   R"({"type":"training","update":2,"loss":3.5,"perplexity":20.0855369232})"  // of an earlier version
                   "\n"
                   R"({"type":"training","update":3,"loss":2.5,"cross_entropy":2.5})"
                   "\n"
                   R"({"type":"training","update":4,"loss":"x","cross_entropy":2})"
                   "\n"
                   R"({"type":"validation","update":4,"loss":2.25,"perplexity":9.4877358364})");
  EXPECT_THAT(metrics.training.at("loss"),
              ElementsAre(Pair(1, 3.5), Pair(2, ::testing::DoubleNear(3, 1e-9)), Pair(3, 2.5), Pair(4, 2)));
  EXPECT_THAT(metrics.training.at("smoothed_loss"), ElementsAre(Pair(1, 4), Pair(2, 3.5)));
  EXPECT_EQ(metrics.training.count("cross_entropy"), 0U);
  EXPECT_THAT(metrics.validation.at("loss"), ElementsAre(Pair(4, 2.25)));
}

TEST(ReadMetrics, LeavesOutWhatIsNoFigureAndCountsWhatCannotBeRead) {
  const Metrics metrics = read_metrics(
      "{\"type\":\"training\",\"update\":1,\"loss\":null,\"gradient_norm\":1e999,\"x\":\"3\"}\n"
      "nonsense\n[1]\n{\"type\":\"training\",\"update\":\"2\"}\n{\"type\":1,\"update\":2}\n"
      "{\"type\":\"training\",\"update\":-3,\"loss\":1}\n{\"type\":\"training\",\"upd");
  EXPECT_THAT(metrics.training, IsEmpty());
  EXPECT_GE(metrics.unreadable, 5U);
  EXPECT_TRUE(metrics.cut);
  EXPECT_FALSE(read_metrics("").cut);
  const std::string ill_formed = "{\"type\":\"sample\",\"update\":1,\"source\":\"a\xff\"}\n";
  EXPECT_EQ(read_metrics(ill_formed).samples.at(0).source, "a\xEF\xBF\xBD");
}

class ReportOf : public ::testing::Test {
 protected:
  fs::path run(const std::string& name, const std::string& metrics) {
    const fs::path folder = folder_.path() / name;
    fs::create_directories(folder);
    core::write_file(folder / "run.json",
                     R"({"configuration":{"training":{"seed":)" + std::to_string(name.size()) +
                         R"(,"updates":10},"output":"x"},"forks":[{"update":3,"changed":"training.seed was 1"}],)"
                         R"("resumes":[2,"x"]})");
    core::write_file(folder / "metrics.jsonl", metrics);
    return folder;
  }
  /// What the script of the page is given.
  static core::Json data_of(const std::string& page) {
    const std::string before = "id=\"data\">";
    const std::size_t begin = page.find(before) + before.size();
    return core::parse_json(page.substr(begin, page.find("</script>", begin) - begin), "page");
  }
  TemporaryFolder folder_;
};

TEST_F(ReportOf, ARunHoldsItsSeriesMarksAndConfiguration) {
  const std::vector<RunHistory> runs{read_run(run("a", "{\"type\":\"training\",\"update\":1,\"loss\":2}\n"))};
  const core::Json data = data_of(to_html(runs, "1.2.3"));
  const core::Json& shown = data["runs"][0];
  EXPECT_EQ(shown["training"]["loss"], core::Json::parse("[[1,2.0]]"));
  EXPECT_EQ(shown["updates"], 10);
  EXPECT_EQ(shown["marks"].size(), 2U) << "a fork and the one resume that is a number";
  EXPECT_EQ(shown["marks"][0]["fork"], "training.seed was 1");
  EXPECT_FALSE(shown["finished"].get<bool>());
  EXPECT_EQ(data["version"], "1.2.3");
}

TEST_F(ReportOf, SeveralRunsHaveTheDifferencesOfTheirConfigurations) {
  const std::vector<RunHistory> runs{read_run(run("a", "")), read_run(run("bbb", ""))};
  const core::Json differences = data_of(to_html(runs, ""))["differences"];
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0]["key"], "training.seed");
  EXPECT_EQ(differences[0]["values"], core::Json::parse(R"(["1","3"])"));
}

/// Neither markup nor bytes that are no text get out of the data.
TEST_F(ReportOf, HostileTextsStayTexts) {
  const std::string hostile = "</script><script>alert(1)</script><!-- & \xff\xfe \xE2\x80\xA8";
  const core::Json line{{"type", "sample"}, {"update", 1}, {"source", hostile}, {"prediction", "p"}, {"reference", ""}};
  RunHistory history = read_run(run("a", core::one_line(line) + "\n"));
  history.name = hostile;
  history.notes = {hostile};
  history.metrics.samples.push_back({.update = 2, .source = hostile, .prediction = std::string(1 << 20, 'x')});
  const std::string page = to_html({history}, "");
  EXPECT_EQ(page.find("alert(1)</"), std::string::npos);
  std::size_t scripts = 0;
  for (std::size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1)) ++scripts;
  EXPECT_EQ(scripts, 2U) << "the data and the page's own";
  const core::Json data = data_of(page);
  EXPECT_THAT(data["runs"][0]["name"].get<std::string>(), HasSubstr("</script><script>alert(1)</script><!-- &"));
  EXPECT_LT(data["runs"][0]["samples"][1]["prediction"].get<std::string>().size(), 3000U);
  EXPECT_LT(page.size(), 100000U);
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
}

/// Each leaf below a long key has the key in its own.
TEST_F(ReportOf, LongKeysAboveManyLeavesTakeNoMemory) {
  RunHistory history = read_run(run("a", ""));
  core::Json leaves = core::Json::object();
  for (int i = 0; i < 20000; ++i) leaves["k" + std::to_string(i)] = i;
  const std::string key(200000, 'x');
  history.configuration = {{key + "1", leaves}, {key + "2", {{"k0", 1}}}};
  const fuzz::AllocationMeter meter;
  const std::string page = to_html({history}, "");
  EXPECT_LT(meter.peak(), std::size_t{100} << 20) << "the keys together would be 4 GB";
  EXPECT_LT(page.size(), 20'000'000U);
  EXPECT_EQ(data_of(page)["runs"][0]["configuration"].size(), 20001U) << "long keys stay apart";
}

/// The page's own functions, run by Node, with numbers so large that adding a step changes nothing.
TEST_F(ReportOf, TheScriptEndsWhateverTheNumbersAndNamesAre) {
  if (std::system("node --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no Node to run the script";
  const std::string metrics = R"({"type":"training","update":1,"loss":10000000000000000,"constructor":1,"__proto__":2})"
                              "\n"
                              R"({"type":"training","update":2,"loss":10000000000000002,"toString":5e-324})"
                              "\n"
                              R"({"type":"validation","update":2,"constructor":1.5,"hasOwnProperty":1e308})"
                              "\n";
  const std::string page = to_html({read_run(run("a", metrics))}, "");
  const fs::path file = folder_.path() / "page.html";
  const fs::path check = folder_.path() / "check.js";
  core::write_file(file, page);
  core::write_file(check, R"(
const page = require("fs").readFileSync(process.argv[2], "utf8");
const parts = [...page.matchAll(/<script[^>]*>([^]*?)<\/script>/g)].map(found => found[1]);
const element = { textContent: parts[0] };
globalThis.document = { getElementById: () => element };
const begin = parts[1].slice(0, parts[1].indexOf("\nfunction histogram"));
const run = new Function(begin + "\nreturn { ticks, logTicks, charts };");
const { ticks, logTicks, charts } = run();
for (const [low, high] of [[1e16, 1e16 + 2], [0, 0], [-1e308, 1e308], [1, Infinity], [5e-324, 1e-323], [3, 3]]) {
  if (ticks(low, high, 6).length > 20) throw new Error("ticks");
  if (low > 0 && logTicks(low, high).length > 3000) throw new Error("logTicks");
}
const titles = charts().map(chart => chart.title);
for (const name of ["constructor", "toString", "hasOwnProperty"])
  if (!titles.includes(name)) throw new Error(name + " is not in " + titles);
)");
  EXPECT_EQ(std::system(("timeout 20 node " + check.string() + " " + file.string()).c_str()), 0);
}

TEST_F(ReportOf, ALongRunIsThinnedOutAndKeepsItsEnds) {
  RunHistory history;
  for (std::int64_t i = 0; i < 100000; ++i) history.metrics.training["loss"].emplace_back(i, 1.0);
  const core::Json points = data_of(to_html({history}, ""))["runs"][0]["training"]["loss"];
  EXPECT_LT(points.size(), 4000U);
  EXPECT_EQ(points.front()[0], 0);
  EXPECT_EQ(points.back()[0], 99999);
}

/// The models of the first end are there while a run goes on.
TEST_F(ReportOf, ARunThatIsContinuedIsNotFinished) {
  const fs::path folder = run("a", "{\"type\":\"training\",\"update\":20,\"loss\":2}\n");
  const auto is_finished = [&](const std::string& key) {
    core::write_file(folder / "run.json", "{" + key + "\"configuration\":{}}");
    return read_run(folder).finished;
  };
  EXPECT_FALSE(is_finished("")) << "of an older program, without a last model";
  EXPECT_TRUE(is_finished("\"finished\":20,"));
  core::make_folder(folder / "last");
  core::write_file(folder / "last" / "config.json", "{}");
  EXPECT_TRUE(is_finished(""));
  EXPECT_TRUE(is_finished("\"finished\":20,"));
  EXPECT_FALSE(is_finished("\"finished\":null,"));
}

TEST_F(ReportOf, ADamagedRecordIsAnErrorThatSaysWhatToDo) {
  const fs::path folder = run("damaged", "{\"type\":\"training\",\"update\":1,\"loss\":2}\n");
  const std::string whole = core::read_file(folder / "run.json");
  for (const std::string& damaged : {whole.substr(0, whole.size() / 2), std::string(), std::string("[]"),
                                     std::string("{}"), std::string("{\"configuration\": 3}")}) {
    core::write_file(folder / "run.json", damaged);
    try {
      read_run(folder);
      ADD_FAILURE() << "no error: " << damaged;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr((folder / "run.json").string()), HasSubstr("leave this run out")));
    }
  }
}

TEST_F(ReportOf, FilesOfANewerProgramAreNotShown) {
  const fs::path folder = run("newer", "{\"type\":\"training\",\"update\":1,\"loss\":2}\n");
  core::write_file(folder / "data.json", R"({"format_version":2,"train":{"pairs":1}})");
  const RunHistory history = read_run(folder);
  EXPECT_THAT(history.lengths, IsEmpty());
  EXPECT_THAT(history.notes, Contains(HasSubstr("data.json: format_version is '2'; this program reads 1 to 1")));
  core::write_file(folder / "run.json", R"({"format_version":3,"configuration":{}})");
  try {
    read_run(folder);
    ADD_FAILURE() << "no error";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("run.json: format_version is '3'; this program reads 1 to 2"));
  }
}

TEST_F(ReportOf, WhatIsNoRunIsRefusedAndWhatIsBrokenIsNoted) {
  EXPECT_THROW(read_run(folder_.path()), core::Error);
  EXPECT_THROW(read_run(folder_.path() / "nowhere"), core::Error);
  const fs::path folder = run("broken", "");
  core::write_file(folder / "data.json", "{\"train\": {\"source\": [[1, 2], [3], [-1, 2], 7], \"target\": 3}}");
  fs::remove(folder / "metrics.jsonl");
  const RunHistory history = read_run(folder);
  EXPECT_THAT(history.notes, Contains(HasSubstr("metrics.jsonl")));
  const core::Json lengths = data_of(to_html({history}, ""))["runs"][0]["lengths"];
  EXPECT_EQ(lengths["train"]["source"], core::Json::parse("[[1,2]]"));
  EXPECT_EQ(lengths["train"]["target"], core::Json::array());
}

}  // namespace
}  // namespace dragoman::report
