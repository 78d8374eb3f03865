#include "deepl/deepl_glossaries.h"
#include "served.h"

#include <gmock/gmock.h>

namespace dragoman::server {
namespace {

using core::Json;
using ::testing::HasSubstr;

class DeepLTest : public Served {};

TEST_F(DeepLTest, TextsAreTranslated) {
  const Json answer = json_of(post_json("/v2/translate", {{"text", {kDog, "A dog."}},
                                                          {"target_lang", "EN-US"},
                                                          {"show_billed_characters", true},
                                                          {"split_sentences", "1"}}));
  ASSERT_EQ(answer["translations"].size(), 2u) << answer;
  EXPECT_EQ(answer["translations"][0],
            (Json{{"detected_source_language", "DE"}, {"text", of_library(kDog)}, {"billed_characters", 29}}));
  EXPECT_EQ(answer["translations"][1]["text"], "A dog.") << "English is English already";
  const std::string form = std::string("text=") + kDogForm + "&text=" + kDogForm + "&source_lang=DE&target_lang=en";
  EXPECT_EQ(json_of(post("/v2/translate", form))["translations"][1]["text"], of_library(kDog));
  EXPECT_EQ(json_of(get("/v2/usage"))["character_count"], 29 + 6 + 2 * 29);
}

TEST_F(DeepLTest, ErrorsAreMessages) {
  const auto problem = [&](const Json& body) {
    const http::Response response = post_json("/v2/translate", body);
    EXPECT_EQ(response.status, 400);
    return json_of(response).value("message", "");
  };
  EXPECT_EQ(problem({{"target_lang", "EN"}}), "Parameter 'text' not specified.");
  EXPECT_EQ(problem({{"text", "a"}}), "Parameter 'target_lang' not specified.");
  EXPECT_EQ(problem({{"text", "a"}, {"target_lang", "XX"}}), "Value for 'target_lang' not supported.");
  EXPECT_EQ(problem({{"text", "a"}, {"target_lang", "EN"}, {"source_lang", "XX"}}),
            "Value for 'source_lang' not supported.");
  EXPECT_THAT(problem({{"text", "a"}, {"target_lang", "EN"}, {"formality", "more"}}), HasSubstr("formality"));
  EXPECT_EQ(problem({{"text", "a"}, {"target_lang", "EN"}, {"tag_handling", "pdf"}}),
            "Value for 'tag_handling' not supported.");
  EXPECT_EQ(problem({{"text", "a"}, {"target_lang", "EN"}, {"split_sentences", "invalid"}}),
            "Value for 'split_sentences' not supported.");
  EXPECT_EQ(post("/v2/translate", "{", kJson).status, 400);
  const auto* route = router_.find("POST", "/v2/translate").route;
  http::Request request;
  request.headers.set("Authorization", "DeepL-Auth-Key k:fx");
  EXPECT_EQ(route->find_key(request), "k:fx");
  EXPECT_EQ(route->refuse({}, {.cause = http::Refusal::Cause::kMissingKey, .status = 401, .reason = "key"}).status,
            403);
}

TEST_F(DeepLTest, LanguagesHaveDeepLsCodes) {
  EXPECT_EQ(json_of(get("/v2/languages")), (Json::array({{{"language", "DE"}, {"name", "German"}}})));
  http::Request request = request_of("GET", "/v2/languages");
  request.query = {{"type", "target"}};
  std::vector<std::string> codes;
  for (const Json& language : json_of(ask(request))) codes.push_back(language["language"]);
  EXPECT_THAT(codes, ::testing::ElementsAre("EN-US", "EN-GB", "PT-BR"));
  EXPECT_EQ(json_of(get("/v2/glossary-language-pairs"))["supported_languages"].size(), 2u);
}

TEST_F(DeepLTest, AGlossaryIsMadeUsedShownAndDeleted) {
  const http::Response made = post_json("/v2/glossaries", {{"name", "Dogs"},
                                                           {"source_lang", "DE"},
                                                           {"target_lang", "EN"},
                                                           {"entries", "Hund\tpoodle\nKatze\tlion"},
                                                           {"entries_format", "tsv"}});
  ASSERT_EQ(made.status, 201) << made.body;
  const Json glossary = json_of(made);
  EXPECT_EQ(glossary["entry_count"], 2);
  EXPECT_EQ(glossary["ready"], true);
  EXPECT_THAT(glossary["creation_time"].get<std::string>(), ::testing::MatchesRegex("....-..-..T..:..:...000Z"));
  const auto id = glossary["glossary_id"].get<std::string>();
  const Json body{{"text", {kDog}}, {"source_lang", "DE"}, {"target_lang", "EN-GB"}, {"glossary_id", id}};
  EXPECT_THAT(json_of(post_json("/v2/translate", body))["translations"][0]["text"].get<std::string>(),
              HasSubstr("poodle"));
  EXPECT_EQ(json_of(get("/v2/glossaries"))["glossaries"], Json::array({glossary}));
  EXPECT_EQ(json_of(get("/v2/glossaries/" + id)), glossary);
  EXPECT_EQ(get("/v2/glossaries/" + id + "/entries").body, "Hund\tpoodle\nKatze\tlion");
  http::Request stranger = request_of("GET", "/v2/glossaries/" + id);
  stranger.key = "another";
  EXPECT_EQ(ask(stranger).status, 404) << "each key has its own";
  Json wrong = body;
  wrong["target_lang"] = "PT-BR";
  EXPECT_THAT(post_json("/v2/translate", wrong).body, HasSubstr("The glossary is for DE to EN"));
  EXPECT_EQ(ask(request_of("DELETE", "/v2/glossaries/" + id)).status, 204);
  EXPECT_EQ(ask(request_of("DELETE", "/v2/glossaries/" + id)).status, 404);
  EXPECT_EQ(post_json("/v2/translate", body).status, 404);
}

TEST(ParseEntries, ReadsTabsAndCommas) {
  const GlossaryEntries expected = {{"a, b", "c \"d\""}, {"e", "f"}};
  EXPECT_EQ(parse_entries("a, b\tc \"d\"\r\n\ne\t f\n", "tsv"), expected);
  EXPECT_EQ(parse_entries("\"a, b\",\"c \"\"d\"\"\",DE,EN\ne,f", "csv"), expected);
  EXPECT_EQ(to_tsv(expected), "a, b\tc \"d\"\ne\tf");
  for (const char* bad : {"", "a", "a\tb\tc", "a\t", "a\tb\na\tc"})
    EXPECT_THROW(parse_entries(bad, "tsv"), BadRequest) << bad;
  EXPECT_THROW(parse_entries("\"a,b", "csv"), BadRequest);
  EXPECT_THROW(parse_entries("a\tb", "xml"), BadRequest);
}

TEST(GlossaryStore, IsBounded) {
  GlossaryStore store;
  for (std::size_t i = 0; i < GlossaryStore::kMaxGlossaries; ++i) store.put({.owner = "a"});
  EXPECT_THROW(store.put({.owner = "b"}), BadRequest);
  EXPECT_TRUE(store.remove("a", store.list("a").front().id));
  store.put({.owner = "b"});
  EXPECT_EQ(store.list("b").size(), 1u);
}

class ExtensionsTest : public Served {};

TEST_F(ExtensionsTest, ImmersiveTranslateIsAnswered) {
  EXPECT_EQ(json_of(post_json("/imme", {{"source_lang", "auto"}, {"target_lang", "en"}, {"text_list", {kDog, ""}}})),
            (Json{{"translations",
                   {{{"detected_source_lang", "de"}, {"text", of_library(kDog)}},
                    {{"detected_source_lang", "de"}, {"text", ""}}}}}));
  EXPECT_EQ(post_json("/imme", {{"text_list", {kDog}}}).status, 400);
}

TEST_F(ExtensionsTest, KissTranslatorIsAnswered) {
  EXPECT_EQ(json_of(post_json("/kiss", {{"from", "de"}, {"to", "en"}, {"text", kDog}})),
            (Json{{"text", of_library(kDog)}, {"src", "de"}}));
  EXPECT_EQ(json_of(post_json("/kiss", {{"from", "auto"}, {"to", "en"}, {"texts", {kDog}}})),
            (Json{{"translations", {{{"text", of_library(kDog)}, {"src", "de"}}}}}));
  EXPECT_EQ(post_json("/kiss", {{"from", "de"}, {"to", "en"}}).status, 400);
}

TEST_F(ExtensionsTest, DeepLXIsAnswered) {
  const Json answer = json_of(post_json("/deeplx", {{"source_lang", "DE"}, {"target_lang", "EN"}, {"text", kDog}}));
  EXPECT_EQ(answer["code"], 200);
  EXPECT_TRUE(answer["data"].is_string());
  EXPECT_TRUE(answer["alternatives"].is_array());
  EXPECT_EQ(answer["source_lang"], "DE");
  const http::Response wrong = post_json("/deeplx", {{"source_lang", "DE"}, {"target_lang", "XX"}, {"text", kDog}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(json_of(wrong)["code"], 400);
}

}  // namespace
}  // namespace dragoman::server
