#include "libretranslate/libretranslate_text.h"
#include "served.h"

#include <gmock/gmock.h>

namespace dragoman::server {
namespace {

using core::Json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LibreTranslateTest : public Served {
 protected:
  void expect_error(const http::Response& response, int status, const std::string& error) const {
    EXPECT_EQ(response.status, status) << error;
    EXPECT_EQ(json_of(response), (Json{{"error", error}}));
  }
};

// What clients put on the wire, as it was recorded.
TEST_F(LibreTranslateTest, EveryClientIsUnderstood) {
  const Json expected{{"translatedText", of_library(kDog)}};
  const std::string form = std::string("q=") + kDogForm + "&source=de&target=en";
  EXPECT_EQ(json_of(post("/translate", form)), expected) << "libretranslatepy";
  http::Request query = request_of("POST", "/translate");
  query.query = {{"q", kDog}, {"source", "de"}, {"target", "en"}, {"api_key", "k"}, {"format", "text"}};
  EXPECT_EQ(json_of(ask(query)), expected) << "deep-translator: no body, no type";
  EXPECT_EQ(json_of(post_json("/translate", {{"q", kDog}, {"source", "de"}, {"target", "en"}})), expected);
  EXPECT_EQ(json_of(post("/translate", form, "")), expected) << "a form without a type";
  const std::string json = Json{{"q", kDog}, {"source", "de"}, {"target", "en"}}.dump();
  EXPECT_EQ(json_of(post("/translate", json, kForm)), expected) << "curl -d JSON";
  http::Request mixed = request_of("POST", "/translate", std::string("q=") + kDogForm, kForm);
  mixed.query = {{"source", "de"}, {"target", "EN"}};
  EXPECT_EQ(json_of(ask(mixed)), expected);
  const std::string parts = "--B\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\n" + std::string(kDog) +
                            "\r\n--B\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nde\r\n--B\r\n"
                            "Content-Disposition: form-data; name=\"target\"\r\n\r\nen\r\n--B--\r\n";
  EXPECT_EQ(json_of(post("/translate", parts, "multipart/form-data; boundary=B")), expected);
}

TEST_F(LibreTranslateTest, ListsAreAnsweredByLists) {
  const Json expected{{"translatedText", {of_library(kDog), of_library(kDog)}}};
  const std::string q = std::string("q=") + kDogForm;
  EXPECT_EQ(json_of(post("/translate", q + "&" + q + "&source=de&target=en")), expected) << "libretranslate-aio";
  EXPECT_EQ(json_of(post_json("/translate", {{"q", {kDog, kDog}}, {"source", "de"}, {"target", "en"}})), expected);
}

TEST_F(LibreTranslateTest, LanguagesAreDetectedForEachText) {
  EXPECT_EQ(json_of(post_json("/translate", {{"q", {kDog, "🙂 🙂"}}, {"source", "auto"}, {"target", "en"}})),
            (Json{{"detectedLanguage",
                   {{{"confidence", 90.0}, {"language", "de"}}, {{"confidence", 0.0}, {"language", "en"}}}},
                  {"translatedText", {of_library(kDog), "🙂 🙂"}}}));
  EXPECT_EQ(json_of(post("/detect", std::string("q=") + kDogForm)), (Json{{{"confidence", 90.0}, {"language", "de"}},
                                                                          {{"confidence", 5.0}, {"language", "nl"}},
                                                                          {{"confidence", 3.0}, {"language", "en"}}}));
  EXPECT_EQ(json_of(post("/detect", "q=12")), (Json::array({{{"confidence", 0.0}, {"language", "en"}}})));
}

TEST_F(LibreTranslateTest, AlternativesAreDistinct) {
  const Json body =
      json_of(post_json("/translate", {{"q", kDog}, {"source", "de"}, {"target", "en"}, {"alternatives", 2}}));
  ASSERT_TRUE(body.contains("alternatives")) << body;
  ASSERT_LE(body["alternatives"].size(), 2u);
  for (const Json& alternative : body["alternatives"]) EXPECT_NE(alternative, body["translatedText"]);
  const Json list =
      json_of(post_json("/translate", {{"q", {kDog}}, {"source", "de"}, {"target", "en"}, {"alternatives", "1"}}));
  EXPECT_TRUE(list["alternatives"].front().is_array());
}

TEST_F(LibreTranslateTest, ErrorsComeInLibreTranslatesOrderAndWords) {
  DialectOptions options;
  character_limit_ = 40;
  options.batch_limit = 2;
  options.alternatives_limit = 3;
  serve(options);
  const std::string long_text(41, 'x');
  const auto json = [&](const Json& body) { return post_json("/translate", body); };
  expect_error(json({{"source", "de"}}), 400, "Invalid request: missing q parameter");
  expect_error(json({{"q", ""}}), 400, "Invalid request: missing q parameter");
  expect_error(json({{"q", Json::array()}}), 400, "Invalid request: missing q parameter");
  expect_error(json({{"q", "a"}, {"target", "en"}}), 400, "Invalid request: missing source parameter");
  expect_error(json({{"q", "a"}, {"source", "zz"}}), 400, "Invalid request: missing target parameter");
  expect_error(json({{"q", "a"}, {"source", "zz"}, {"target", "en"}, {"alternatives", "x"}}), 400,
               "Invalid request: alternatives parameter is not a number");
  expect_error(json({{"q", "a"}, {"source", "zz"}, {"target", "en"}, {"alternatives", 4}}), 400,
               "Invalid request: alternatives parameter must be <= 3");
  expect_error(json({{"q", {long_text, "a", "a"}}, {"source", "zz"}, {"target", "en"}}), 400,
               "Invalid request: request (3) exceeds text limit (2)");
  expect_error(json({{"q", long_text}, {"source", "zz"}, {"target", "en"}}), 400,
               "Invalid request: request (41) exceeds text limit (40)");
  expect_error(json({{"q", "a"}, {"source", "ZZ"}, {"target", "yy"}}), 400, "zz is not supported");
  expect_error(json({{"q", "a"}, {"source", "de"}, {"target", "yy"}, {"format", "x"}}), 400, "yy is not supported");
  expect_error(json({{"q", "a"}, {"source", "de"}, {"target", "en"}, {"format", "x"}}), 400,
               "x format is not supported");
  expect_error(json({{"q", "a"}, {"source", "en"}, {"target", "de"}}), 400,
               "German (de) is not available as a target language from English (en)");
  expect_error(post("/translate", "{\"q\":", kJson), 400, "Invalid JSON format");
  expect_error(post("/translate", "[]", kJson), 400, "Invalid JSON format");
  expect_error(post("/translate", "{\"q\": \"\xff\"}", kJson), 400, "Invalid JSON format");
  expect_error(post("/suggest", "q=a"), 403, "Suggestions are disabled on this server.");
  expect_error(post("/detect", ""), 400, "Invalid request: missing q parameter");
  EXPECT_EQ(json({{"q", 12}, {"source", "de"}, {"target", "en"}}).status, 400);
  EXPECT_EQ(get("/translate").status, 405);
  EXPECT_THAT(get("/translate").body, StartsWith("{\"error\""));
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_THAT(get("/nothing").body, StartsWith("{\"error\""));
}

TEST_F(LibreTranslateTest, MissingAndWrongKeysAreWordedAsThere) {
  const auto* route = router_.find("POST", "/translate").route;
  ASSERT_NE(route, nullptr);
  using Cause = http::Refusal::Cause;
  const auto refused = [&](Cause cause, int status) {
    return route->refuse({},
                         {.cause = cause, .status = status, .reason = "why", .retry_after = std::chrono::seconds(3)});
  };
  expect_error(refused(Cause::kMissingKey, 401), 400, "Please contact the server operator to get an API key");
  expect_error(refused(Cause::kInvalidKey, 403), 403, "Invalid API key");
  expect_error(refused(Cause::kTooMany, 429), 429, "Slowdown: why");
  EXPECT_EQ(refused(Cause::kTooMany, 429).headers.get("Retry-After"), "3");
  EXPECT_EQ(route->find_key(request_of("POST", "/translate", "{\"api_key\": \"k1\"}", kJson)), "k1");
  EXPECT_EQ(route->find_key(request_of("POST", "/translate", "q=1&api_key=k2", kForm)), "k2");
  EXPECT_EQ(route->find_key(request_of("POST", "/translate", "{", kJson)), "");
}

TEST_F(LibreTranslateTest, LanguagesSettingsHealthAndSpecAreAnswered) {
  const Json languages{{{"code", "de"}, {"name", "German"}, {"targets", {"de", "en", "pt-BR"}}},
                       {{"code", "en"}, {"name", "English"}, {"targets", {"en"}}},
                       {{"code", "pt-BR"}, {"name", "Brazilian Portuguese"}, {"targets", {"pt-BR"}}}};
  Json found = json_of(get("/languages"));
  found[2]["name"] = "Brazilian Portuguese";
  EXPECT_EQ(found, languages);
  EXPECT_EQ(post("/languages", "").body, get("/languages").body) << "libretranslatepy 2.1.1";
  http::Request typed = request_of("GET", "/languages", "", kForm);
  EXPECT_EQ(ask(typed).status, 200) << "libretranslatepy 2.1.4";
  const Json settings = json_of(get("/frontend/settings"));
  EXPECT_EQ(settings["charLimit"], -1);
  EXPECT_EQ(settings["suggestions"], false);
  EXPECT_EQ(settings["supportedFilesFormat"].front(), ".txt");
  EXPECT_EQ(settings["language"]["target"]["code"], "en");
  EXPECT_EQ(json_of(get("/health")), (Json{{"status", "ok"}}));
}

TEST_F(LibreTranslateTest, TheDocumentHasTheBoundsThatRequestsHave) {
  DialectOptions options;
  options.character_limit = 5000;
  options.alternatives_limit = 3;
  serve(options);
  const Json paths = json_of(get("/spec"))["paths"];
  const auto field = [&](const std::string& path, const std::string& name) {
    for (const Json& parameter : paths[path]["post"]["parameters"])
      if (parameter["name"] == name) return parameter;
    return Json();
  };
  EXPECT_EQ(field("/translate", "q")["type"], "string") << "fields of forms have no schema in Swagger 2.0";
  EXPECT_EQ(field("/translate", "q")["minLength"], 1);
  EXPECT_EQ(field("/translate", "q")["maxLength"], 5000);
  EXPECT_EQ(field("/translate", "alternatives")["maximum"], 3);
  EXPECT_EQ(field("/translate", "format")["enum"], (Json{"text", "html"}));
  EXPECT_EQ(field("/translate", "source")["enum"], (Json{"auto", "de", "en", "pt-BR"}));
  EXPECT_EQ(field("/translate", "target")["enum"], (Json{"de", "en", "pt-BR"}));
  EXPECT_EQ(field("/translate_file", "file")["type"], "file");
  EXPECT_TRUE(paths["/languages"].contains("get") && paths["/languages"].contains("post"));
  EXPECT_FALSE(paths.contains("/suggest")) << "it is not offered";
}

TEST_F(LibreTranslateTest, AFileIsTranslatedAndFetched) {
  bool secure = false;
  const auto upload = [&](const std::string& name, const std::string& content) {
    http::Request request =
        request_of("POST", "/translate_file",
                   "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name +
                       "\"\r\nContent-Type: text/plain\r\n\r\n" + content +
                       "\r\n--B\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nde\r\n--B\r\n"
                       "Content-Disposition: form-data; name=\"target\"\r\n\r\nen\r\n--B--",
                   "multipart/form-data; boundary=\"B\"");
    request.headers.set("Host", "localhost:5000");
    request.secure = secure;
    return ask(std::move(request));
  };
  const http::Response made = upload("../my file.txt", std::string("\xEF\xBB\xBF") + kDog + "\r\n\r\n" + kDog);
  ASSERT_EQ(made.status, 200) << made.body;
  const auto url = json_of(made)["translatedFileUrl"].get<std::string>();
  const std::string beginning = "http://localhost:5000";
  ASSERT_THAT(url, StartsWith(beginning + "/download_file/"));
  const http::Response file = get(url.substr(beginning.size()));
  EXPECT_EQ(file.body, of_library(kDog) + "\r\n\r\n" + of_library(kDog));
  EXPECT_EQ(file.headers.get("Content-Disposition"), "attachment; filename=my_file.txt");
  secure = true;
  EXPECT_THAT(json_of(upload("a.txt", kDog))["translatedFileUrl"].get<std::string>(), StartsWith("https://localhost"));
  expect_error(get("/download_file/..%2fetc"), 400, "Invalid filename");
  EXPECT_EQ(get("/download_file/00000000000000000000000000000000.txt").status, 404);
  expect_error(upload("a.exe", "x"), 400, "Invalid request: file format not supported");
  expect_error(upload("", "x"), 400, "Invalid request: empty file");
  expect_error(post("/translate_file", "source=de"), 400, "Invalid request: missing file parameter");
  DialectOptions options;
  options.translates_files = false;
  serve(options);
  expect_error(upload("a.txt", "x"), 403, "Files translation are disabled on this server.");
}

TEST_F(LibreTranslateTest, HtmlKeepsItsTags) {
  const Json body = json_of(post_json("/translate", {{"q", std::string("<p>") + kDog + "</p>"},
                                                     {"source", "de"},
                                                     {"target", "en"},
                                                     {"format", "html"},
                                                     {"alternatives", 2}}));
  EXPECT_EQ(body["translatedText"], "<p>" + of_library(kDog) + "</p>");
  EXPECT_EQ(body["alternatives"], Json::array());
}

TEST_F(LibreTranslateTest, AGlossaryOfTheRequestIsMet) {
  const Json body{{"q", kDog}, {"source", "de"}, {"target", "en"}};
  Json list = body;
  list["glossary"] = {{{"source", "Hund"}, {"target", "poodle"}}};
  EXPECT_THAT(json_of(post_json("/translate", list))["translatedText"].get<std::string>(), HasSubstr("poodle"));
  Json object = body;
  object["glossary"] = {{"Hund", "poodle"}};
  EXPECT_EQ(post_json("/translate", object).body, post_json("/translate", list).body);
  EXPECT_EQ(post("/translate",
                 std::string("q=") + kDogForm +
                     "&source=de&target=en&glossary=%5B%7B%22source%22:%22Hund%22,%22target%22:%22poodle%22%7D%5D")
                .body,
            post_json("/translate", list).body);
  object["glossary"] = {{{"source", "Hund"}}};
  EXPECT_EQ(post_json("/translate", object).status, 400);
  object["glossary"] = 1;
  EXPECT_THAT(post_json("/translate", object).body, HasSubstr("glossary: must be a list"));
  object["glossary"] = "Hund";
  EXPECT_THAT(post_json("/translate", object).body, HasSubstr("glossary: must be JSON"));
}

TEST(LibreTranslateText, LineEndsOfFormsBecomeLineFeeds) {
  EXPECT_EQ(with_plain_line_ends("a\r\nb\rc\x0b"
                                 "d\u2028e\n\n"),
            "a\nb\nc\nd\ne\n");
  EXPECT_EQ(with_plain_line_ends(""), "");
}

TEST(LibreTranslateText, EmojiAloneAreNotTranslated) {
  for (const char* text : {"", " ", "🙂", "👍🏽 🇩🇪", "❤️", "👨‍👩‍👧"})
    EXPECT_TRUE(is_untranslatable(text)) << text;
  for (const char* text : {"a", "1", "🙂 a", "!", "猫"}) EXPECT_FALSE(is_untranslatable(text)) << text;
}

TEST(LibreTranslateText, CodesOfLibreTranslateAreUnderstood) {
  EXPECT_EQ(from_libretranslate_code("PB"), "pt-br");
  EXPECT_EQ(from_libretranslate_code("zt"), "zh-hant");
  EXPECT_EQ(to_libretranslate_code("zh"), "zh-Hans");
  EXPECT_EQ(to_libretranslate_code("de"), "de");
}

}  // namespace
}  // namespace dragoman::server
