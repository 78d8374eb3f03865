#include "program.h"

#include <map>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

class PrepareTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  Outcome prepare(const std::string& arguments) const {
    return run_dragoman(folder_.path(), "prepare --quiet " + arguments);
  }
  std::string content(const std::string& name) const { return file_content(folder_ / name); }

  TemporaryFolder folder_;
};

TEST_F(PrepareTest, CleansTwoFilesAndSaysWhatWasLeftOut) {
  write("a.de", "Ein Hund.\nEin Hund.\n\nEine Katze.\n%%% 123\nGleich.\n");
  write("a.en", "A dog.\nA dog.\nNothing.\nA cat.\n%%% 124\nGleich.\n");
  const Outcome outcome = prepare("a.de a.en --output b.de b.en --rejected r.tsv --json");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(content("b.de"), "Ein Hund.\nEine Katze.\n");
  EXPECT_EQ(content("b.en"), "A dog.\nA cat.\n");
  std::istringstream rejected(content("r.tsv"));
  std::map<std::string, int> reasons;
  for (std::string line; std::getline(rejected, line);) ++reasons[line.substr(0, line.find('\t'))];
  EXPECT_EQ(reasons.size(), 4U) << content("r.tsv");
  const core::Json summary = core::Json::parse(outcome.output);
  EXPECT_THAT(summary.dump(), HasSubstr("\"duplicate"));
}

TEST_F(PrepareTest, SplitsTheSameWhateverTheThreads) {
  std::string source, target;
  for (int i = 0; i < 200; ++i) {
    const std::string word = std::string("wort") + static_cast<char>('a' + i % 26) + static_cast<char>('a' + i / 26);
    source += "Das ist " + word + ".\n";
    target += "This is " + word + ".\n";
  }
  write("a.de", source);
  write("a.en", target);
  const std::string options = "a.de a.en --validation 20 --test 10 --output ";
  ASSERT_EQ(prepare(options + "x.de x.en --validation-output xv.de xv.en --test-output xt.de xt.en --threads 1").status,
            0);
  ASSERT_EQ(prepare(options + "y.de y.en --validation-output yv.de yv.en --test-output yt.de yt.en --threads 2").status,
            0);
  const auto lines = [&](const std::string& name) {
    const std::string text = content(name);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines("xv.de"), 20);
  EXPECT_EQ(lines("xt.en"), 10);
  EXPECT_EQ(lines("x.de"), 170);
  for (const char* part : {".de", ".en", "v.de", "v.en", "t.de", "t.en"})
    EXPECT_EQ(content(std::string("x") + part), content(std::string("y") + part)) << part;
}

TEST_F(PrepareTest, RefusesUnequalFilesAndLeavesNothing) {
  write("a.de", "Ein Hund.\nEine Katze.\n");
  write("a.en", "A dog.\n");
  const Outcome outcome = prepare("a.de a.en --output b.de b.en");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, HasSubstr("a.en"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b.de"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b.en"));
  EXPECT_EQ(prepare("a.de").status, 2) << "one side";
  EXPECT_EQ(prepare("a.de a.en --output a.de b.en").status, 2) << "what is read";
}

}  // namespace
}  // namespace dragoman::testing
