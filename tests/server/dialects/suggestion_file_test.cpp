#include "error_message.h"
#include "served.h"

#include <sys/stat.h>

#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <dragoman/server/suggestion_file.h>

namespace dragoman::server {
namespace {

using core::Json;
using dragoman::testing::error_of;
using ::testing::HasSubstr;

std::vector<Json> lines_of(const std::filesystem::path& file) {
  std::vector<Json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(core::parse_json(line, "line"));
  return lines;
}

class SuggestionFileTest : public ::testing::Test {
 protected:
  static DialectOptions::Suggestion suggestion(const std::string& text) {
    return {.text = text, .translation = "dog", .source = "de", .target = "en"};
  }

  dragoman::testing::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "suggestions.jsonl";
};

TEST_F(SuggestionFileTest, AppendsAnObjectOnALine) {
  std::ofstream(path_) << "{\"text\":\"earlier\"}\n";
  SuggestionFile file(path_);
  EXPECT_TRUE(file.append(suggestion("Hund\nKatze \"\xff")));
  EXPECT_TRUE(file.append(suggestion("Maus")));
  const auto lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["text"], "earlier");
  EXPECT_EQ(lines[1]["text"], "Hund\nKatze \"\xEF\xBF\xBD");
  EXPECT_EQ(lines[1]["translation"], "dog");
  EXPECT_EQ(lines[1]["source"], "de");
  EXPECT_EQ(lines[1]["target"], "en");
  EXPECT_THAT(lines[1]["time"].get<std::string>(), ::testing::MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_EQ(lines[2]["text"], "Maus");
}

TEST_F(SuggestionFileTest, IsCreatedForItsOwnerAlone) {
  const SuggestionFile file(path_);
  struct stat state {};
  ASSERT_EQ(::stat(path_.c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777U, 0600U);
}

TEST_F(SuggestionFileTest, LinksFoldersAndPipesAreRefused) {
  std::ofstream(folder_ / "secret") << "x";
  std::filesystem::create_symlink(folder_ / "secret", path_);
  EXPECT_THAT(error_of([&] { SuggestionFile{path_}; }), HasSubstr("suggestions.jsonl: is a link"));
  std::filesystem::remove(path_);
  std::filesystem::create_hard_link(folder_ / "secret", path_);
  EXPECT_THAT(error_of([&] { SuggestionFile{path_}; }), HasSubstr("another name"));
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { SuggestionFile{path_}; }), HasSubstr("suggestions.jsonl"));
  EXPECT_THAT(error_of([&] { SuggestionFile{folder_.path()}; }), HasSubstr("cannot be opened"));
  EXPECT_THAT(error_of([&] { SuggestionFile{folder_ / "none" / "file"}; }), HasSubstr("cannot be opened"));
}

TEST_F(SuggestionFileTest, ALinkThatReplacesTheFileIsNotFollowed) {
  std::ofstream(folder_ / "secret") << "x";
  SuggestionFile file(path_);
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(folder_ / "secret", path_);
  EXPECT_FALSE(file.append(suggestion("Hund")));
  EXPECT_EQ(std::filesystem::file_size(folder_ / "secret"), 1u);
  std::filesystem::remove(path_);
  EXPECT_TRUE(file.append(suggestion("Hund"))) << "a file that was moved away is begun anew";
}

TEST_F(SuggestionFileTest, IsBounded) {
  std::ofstream(path_).close();
  std::filesystem::resize_file(path_, SuggestionFile::kMaxBytes - 10);
  SuggestionFile file(path_);
  EXPECT_FALSE(file.append(suggestion("Hund")));
  EXPECT_EQ(std::filesystem::file_size(path_), SuggestionFile::kMaxBytes - 10);
}

TEST_F(SuggestionFileTest, ThreadsShareIt) {
  SuggestionFile file(path_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 100; ++k) EXPECT_TRUE(file.append(suggestion(std::to_string(i * 100 + k))));
    });
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> texts;
  for (const Json& line : lines_of(path_)) texts.insert(line["text"].get<std::string>());
  EXPECT_EQ(texts.size(), 800u);
}

class SuggestTest : public Served {
 protected:
  void accept(bool stored) {
    DialectOptions options;
    options.suggest = [this, stored](const DialectOptions::Suggestion& suggestion) {
      got_ = suggestion.text + "|" + suggestion.translation + "|" + suggestion.source + "|" + suggestion.target;
      return stored;
    };
    serve(options);
  }
  std::string got_;
};

TEST_F(SuggestTest, PassesSuggestionsOn) {
  accept(true);
  EXPECT_EQ(json_of(get("/frontend/settings"))["suggestions"], true);
  EXPECT_EQ(json_of(post("/suggest", "q=Hund&s=dog&source=DE&target=en")), (Json{{"success", true}}));
  EXPECT_EQ(got_, "Hund|dog|de|en");
}

TEST_F(SuggestTest, RefusesWhatIsIncompleteOrLong) {
  accept(true);
  const auto refused = [&](const std::string& form) {
    const http::Response response = post("/suggest", form);
    EXPECT_EQ(response.status, 400);
    return response.body;
  };
  EXPECT_THAT(refused("q=Hund&source=de&target=en"), HasSubstr("missing s parameter"));
  EXPECT_THAT(refused("q=Hund&s=dog&source=de&target=xx"), HasSubstr("xx is not supported"));
  EXPECT_THAT(refused("q=Hund&s=" + std::string(20'000, 'x') + "&source=de&target=en"),
              HasSubstr("request (20004) exceeds text limit (10000)"));
  EXPECT_EQ(got_, "");
}

TEST_F(SuggestTest, ReportsThatItCannotBeStored) {
  accept(false);
  const http::Response response = post("/suggest", "q=Hund&s=dog&source=de&target=en");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(json_of(response)["error"], "The suggestion cannot be stored now; please tell the server operator");
}

}  // namespace
}  // namespace dragoman::server
