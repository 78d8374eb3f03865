#include "served.h"

#include <sstream>

#include <gmock/gmock.h>

#include <dragoman/decoding/option_table.h>

namespace dragoman::server {
namespace {

using core::Json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class V1Test : public Served {
 protected:
  static Json with(Json body) {
    if (!body.contains("source")) body["source"] = "de";
    if (!body.contains("target")) body["target"] = "en";
    return body;
  }
  std::string problem(const Json& body) const {
    const http::Response response = post_json("/v1/translate", body);
    EXPECT_EQ(response.status, 400) << body;
    return json_of(response).value("error", "");
  }
};

TEST_F(V1Test, TextsAreTranslated) {
  EXPECT_EQ(json_of(post_json("/v1/translate", with({{"text", kDog}}))),
            (Json{{"translations", {{{"text", of_library(kDog)}, {"source", "de"}}}}}));
  EXPECT_EQ(json_of(post_json("/v1/translate", {{"text", {kDog}}, {"target", "en"}})),
            (Json{{"translations", {{{"text", of_library(kDog)}, {"source", "de"}, {"confidence", 0.9}}}}}));
}

TEST_F(V1Test, DetailsAndAlternativesAreAnswered) {
  const Json answer = json_of(post_json(
      "/v1/translate",
      with({{"text", kDog}, {"n_best", 3}, {"details", true}, {"alignment", true}, {"options", {{"beam_size", 6}}}})));
  const Json& translation = answer["translations"][0];
  EXPECT_LE(translation["alternatives"].size(), 2u);
  const Json& sentence = translation["sentences"][0];
  EXPECT_EQ(sentence["source"], kDog);
  ASSERT_EQ(sentence["translations"].size(), 3u);
  double before = 0;
  for (const Json& one : sentence["translations"]) {
    EXPECT_LE(one["score"].get<double>(), before);
    before = one["score"];
    double sum = 0;
    for (const Json& token : one["token_log_probabilities"]) sum += token.get<double>();
    EXPECT_NEAR(sum, one["log_probability"].get<double>(), 1e-6);
    EXPECT_EQ(one["alignment"].size(), one["token_log_probabilities"].size());
  }
}

TEST_F(V1Test, AStopAtTheDeadlineIsStatus504AndAnyOther503) {
  std::stop_source stop;
  stop.request_stop();
  const auto answer = [&](const std::string& path, const std::string& body, bool late) {
    http::Request request = request_of("POST", path, body, kJson);
    request.gone = stop.get_token();
    if (late) request.deadline = std::chrono::steady_clock::now();
    return ask(std::move(request));
  };
  const Json plain = with({{"text", kDog}});
  Json streamed = plain;
  streamed["stream"] = true;
  const Json of_libretranslate{{"q", kDog}, {"source", "de"}, {"target", "en"}};
  for (const auto& [path, body] :
       {std::pair{"/v1/translate", plain.dump()}, std::pair{"/v1/translate", streamed.dump()},
        std::pair{"/translate", of_libretranslate.dump()}}) {
    const http::Response late = answer(path, body, true);
    EXPECT_EQ(late.status, 504) << body;
    EXPECT_THAT(late.body, HasSubstr("send less text at a time"));
    const http::Response ended = answer(path, body, false);
    EXPECT_EQ(ended.status, 503) << body;
    EXPECT_THAT(ended.body, HasSubstr("try again"));
  }
}

TEST_F(V1Test, ErrorsNameTheKeyAndTheRemedy) {
  EXPECT_THAT(problem({{"text", "a"}}), HasSubstr("target: is missing"));
  EXPECT_THAT(problem(with({{"a", "b"}})), HasSubstr("a"));
  EXPECT_THAT(problem(with({{"text", kDog}, {"n_bset", 2}})), HasSubstr("n_best"));
  EXPECT_THAT(problem(with({{"text", 1}})), HasSubstr("text: must be a text or a list of texts"));
  for (const int n_best : {0, 33})
    EXPECT_THAT(problem(with({{"text", kDog}, {"n_best", n_best}})),
                HasSubstr("it must be a whole number from 1 to 32"));
  EXPECT_THAT(problem(with({{"text", kDog}, {"options", nullptr}})), HasSubstr("options: is null"));
  EXPECT_THAT(problem(with({{"text", kDog}, {"format", "pdf"}})), HasSubstr("html"));
  EXPECT_THAT(problem(with({{"text", kDog}, {"options", {{"beam_sise", 2}}}})), HasSubstr("beam_size"));
  EXPECT_THAT(problem(with({{"text", kDog}, {"options", {{"top_k", 2}}}})), HasSubstr("top_k"));
  EXPECT_THAT(problem(with({{"text", kDog}, {"target", "xx"}})), HasSubstr("xx is not supported"));
  EXPECT_THAT(post("/v1/translate", "{\"text\":", kJson).body,
              AllOf(StartsWith("{\"error\":\"not valid JSON"), HasSubstr("at byte 8")));
}

TEST_F(V1Test, ATranslationGrowsByEvents) {
  const auto exchange = std::make_shared<KeptExchange>();
  router_.serve(
      request_of("POST", "/v1/translate",
                 with({{"text", kDog}, {"stream", true}, {"options", {{"decoder", "greedy"}}}}).dump(), kJson),
      http::Reply(exchange));
  const http::Response answer = exchange->wait();
  EXPECT_EQ(answer.content_type, "text/event-stream");
  EXPECT_GT(exchange->parts(), 4);
  std::string grown;
  Json done;
  std::istringstream lines(answer.body);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("event: ")) name = line.substr(7);
    if (!line.starts_with("data: ")) continue;
    const Json data = Json::parse(line.substr(6));
    if (name == "partial") grown += data["more"].get<std::string>();
    if (name == "done") done = data;
  }
  ASSERT_TRUE(done.is_object()) << answer.body;
  EXPECT_EQ(done["translations"][0]["text"], grown);
  EXPECT_EQ(post_json("/v1/translate", with({{"text", kDog}, {"stream", true}, {"options", {{"top_k", 2}}}})).status,
            400)
      << "an error before the first part has its status";
}

TEST_F(V1Test, LinesAreAnsweredInOrder) {
  http::Request request = request_of(
      "POST", "/v1/translate",
      "{\"source\": \"de\"}\n" + Json(kDog).dump() + "\n\n" + Json{{"text", "Ein Mann."}, {"id", 7}}.dump() + "\n",
      "application/x-ndjson");
  request.query = {{"target", "en"}, {"n_best", "1"}, {"details", "false"}};
  const http::Response answer = ask(request);
  EXPECT_EQ(answer.content_type, "application/x-ndjson");
  EXPECT_EQ(answer.body,
            Json({{"index", 0}, {"text", of_library(kDog)}, {"source", "de"}}).dump() + "\n" +
                Json({{"index", 1}, {"id", 7}, {"text", of_library("Ein Mann.")}, {"source", "de"}}).dump() + "\n");
  const auto refuse = [&](const std::string& body) {
    request.body = body;
    const http::Response response = ask(request);
    EXPECT_EQ(response.status, 400) << body;
    return json_of(response).value("error", "");
  };
  EXPECT_THAT(refuse("\"a\"\n{"), HasSubstr("line 2: not valid JSON"));
  EXPECT_THAT(refuse("\"a\"\n{\"source\":\"de\"}"), HasSubstr("line 2: text is missing"));
  EXPECT_THAT(refuse("{\"text\":\"a\",\"n_best\":2}"), HasSubstr("line 1: unknown key"));
  EXPECT_THAT(refuse(" \n"), HasSubstr("no lines"));
  Json names = Json::object();
  for (int i = 0; i < 300; ++i) names["a" + std::to_string(i)] = 1;
  EXPECT_THAT(refuse(names.dump() + "\n\"a\"\n"), HasSubstr("more than 200 names"));
}

TEST_F(V1Test, ALineThatFailsLeavesTheOthers) {
  http::Request request = request_of("POST", "/v1/translate", "\"Ein Mann.\"\n\"A dog.\"\n", "application/x-ndjson");
  request.query = {{"target", "pt-BR"}, {"constraints", "x y z"}};
  request.body += "\"Ein Mann. Ein Hund.\"\n";
  std::istringstream lines(ask(request).body);
  std::vector<bool> failed;
  for (std::string line; std::getline(lines, line);) failed.push_back(Json::parse(line).contains("error"));
  EXPECT_THAT(failed, ::testing::ElementsAre(false, false, true));
}

TEST_F(V1Test, ModelsLanguagesAndDetectionsAreAnswered) {
  const Json models = json_of(get("/v1/models"));
  EXPECT_EQ(models["models"][0]["source"], "de");
  EXPECT_EQ(models["languages"].size(), 3u);
  EXPECT_EQ(models.dump().find("multi30k"), std::string::npos) << "no paths";
  EXPECT_EQ(json_of(post_json("/v1/detect", {{"text", {kDog, "12"}}}))["detections"][0][0],
            (Json{{"language", "de"}, {"confidence", 0.9}}));
  EXPECT_EQ(post_json("/v1/detect", Json::object()).status, 400);
  EXPECT_EQ(json_of(post_json("/v1/detect", {{"text", Json::array()}}))["detections"], Json::array());
}

TEST_F(V1Test, TheDocumentHasEveryOptionOfTheSearch) {
  const Json document = json_of(get("/v1/openapi.json"));
  EXPECT_EQ(document["openapi"], "3.0.3");
  const Json& options = document["components"]["schemas"]["Options"]["properties"];
  for (const core::Option& option : decoding::search_table().options()) {
    const bool is_of_server = option.name.starts_with("mbr_");
    ASSERT_EQ(options.contains(option.name), !is_of_server) << option.name;
    if (is_of_server) continue;
    EXPECT_EQ(options[option.name]["description"], option.help);
  }
  EXPECT_EQ(options["beam_size"]["type"], "integer");
  EXPECT_EQ(options["alpha"]["type"], "number");
  EXPECT_EQ(options["alignment"]["type"], "boolean");
  EXPECT_THAT(document["components"]["schemas"]["Request"]["properties"]["source"]["enum"],
              ::testing::ElementsAre("auto", "de", "en", "pt-BR"));
}

TEST_F(V1Test, TheDocumentHasTheLanguagePairs) {
  const Json pairs = json_of(get("/v1/openapi.json"))["components"]["schemas"]["Request"]["allOf"][0]["anyOf"];
  const auto allows = [&](const std::string& source, const std::string& target) {
    return std::ranges::any_of(pairs, [&](const Json& pair) {
      const auto has = [&](const char* key, const std::string& code) {
        const Json& codes = pair["properties"][key]["enum"];
        return std::ranges::find(codes, Json(code)) != codes.end();
      };
      return has("source", source) && has("target", target);
    });
  };
  EXPECT_TRUE(allows("de", "en") && allows("de", "pt-BR") && allows("auto", "en") && allows("en", "en"));
  EXPECT_FALSE(allows("en", "de") || allows("pt-BR", "en"));
}

TEST_F(V1Test, OptionsAreNotNull) {
  const http::Response response =
      post_json("/v1/translate", {{"text", kDog}, {"target", "en"}, {"options", {{"beam_size", nullptr}}}});
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(json_of(response)["error"], "options: beam_size: is null; leave it out");
}

TEST_F(V1Test, AKeyThatIsThereTwiceIsRefused) {
  const auto error_of = [&](const std::string& path, const std::string& body, const std::string& type) {
    const http::Response response = post(path, body, type);
    EXPECT_EQ(response.status, 400) << body;
    return json_of(response).value("error", "");
  };
  const std::string twice = R"({"text": "Hund = a", "text": "Katze", "source": "de", "target": "en"})";
  for (const std::string& type : {kJson, kForm, std::string()}) {
    EXPECT_THAT(error_of("/v1/translate", twice, type), HasSubstr("'text' is in this object twice")) << type;
    EXPECT_THAT(error_of("/v1/detect", twice, type), HasSubstr("'text' is in this object twice")) << type;
  }
  EXPECT_THAT(
      error_of("/v1/translate",
               R"({"text": "Hund", "source": "de", "target": "en", "options": {"beam_size": 2, "beam_size": 3}})",
               kJson),
      HasSubstr("'beam_size' is in this object twice"));
  EXPECT_THAT(error_of("/v1/translate",
                       R"({"source": "de", "target": "en"})"
                       "\n"
                       R"({"text": "Hund", "text": "Katze"})",
                       "application/x-ndjson"),
              HasSubstr("line 2: the key 'text' is in this object twice"));
  http::Request query = request_of("POST", "/v1/translate", R"({"text": "Hund"})", kJson);
  query.query = {{"source", "de"}, {"target", "en"}, {"target", "fr"}};
  const http::Response response = ask(query);
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(json_of(response).value("error", ""), HasSubstr("target: is in the query twice"));
  EXPECT_EQ(post("/translate", R"({"q": "Hund", "q": "Katze", "source": "de", "target": "en"})", kJson).status, 200)
      << "in the dialects of other servers the last counts";
}

TEST_F(V1Test, HtmlHasOneTranslation) {
  const auto answer = [&](Json more) {
    more.update({{"text", "<b>" + std::string(kDog) + "</b>"}, {"source", "de"}, {"target", "en"}, {"format", "html"}});
    return post_json("/v1/translate", more);
  };
  EXPECT_EQ(answer({{"n_best", 1}, {"options", {{"n_best", 1}}}, {"details", true}}).status, 200);
  for (const Json& more :
       {Json{{"n_best", 2}}, Json{{"options", {{"n_best", 2}}}}, Json{{"details", true}, {"alignment", true}}}) {
    const http::Response response = answer(more);
    EXPECT_EQ(response.status, 400) << more;
    EXPECT_THAT(response.body, HasSubstr("leave it out, or send the text without tags"));
  }
  const http::Response one = answer({{"constraints", "dog"}});
  EXPECT_EQ(one.status, 200) << one.body;
  const Json two{{"text", "<p>Ein Hund.</p><p>Ein Mann.</p>"},
                 {"source", "de"},
                 {"target", "en"},
                 {"format", "html"},
                 {"constraints", "dog"}};
  EXPECT_THAT(post_json("/v1/translate", two).body, HasSubstr("constraints: the text has more than one sentence"));
  const Json libre = json_of(
      post_json("/translate",
                {{"q", "<b>Hund</b>"}, {"source", "de"}, {"target", "en"}, {"format", "html"}, {"alternatives", 2}}));
  EXPECT_EQ(libre["alternatives"], Json::array()) << "as in LibreTranslate";
}

TEST_F(V1Test, BlankTermsAndUnknownDecodersAreNamed) {
  const auto error = [&](Json more) {
    more["text"] = "";  // nothing is translated, and yet the request is checked
    more["source"] = "de";
    more["target"] = "en";
    const http::Response response = post_json("/v1/translate", more);
    EXPECT_EQ(response.status, 400);
    return json_of(response)["error"].get<std::string>();
  };
  EXPECT_EQ(error({{"suppress", " "}}), "suppress: a text is blank; leave it out");
  EXPECT_EQ(error({{"constraints", {"dog", ""}}}), "constraints: a text is blank; leave it out");
  EXPECT_THAT(error({{"glossary", {{" ", "dog"}}}}), HasSubstr("glossary:"));
  EXPECT_THAT(error({{"glossary", {{{"source", "Hund"}, {"target", " "}}}}}), HasSubstr("glossary:"));
  EXPECT_THAT(error({{"options", {{"decoder", "beem"}}}}),
              HasSubstr("options: decoder is 'beem'; it must be one of: "));
  EXPECT_EQ(json_of(post("/translate", "q=a&source=de&target=en&glossary=x"))["error"],
            "glossary: must be JSON: a list of objects {source, target}");
}

TEST_F(V1Test, TheDocumentHasTheBoundsThatRequestsHave) {
  DialectOptions limits;
  limits.character_limit = 5000;
  limits.batch_limit = 20;
  serve(limits);
  const Json schemas = json_of(get("/v1/openapi.json"))["components"]["schemas"];
  const Json& options = schemas["Options"]["properties"];
  EXPECT_EQ(options["beam_size"]["minimum"], 1);
  EXPECT_EQ(options["beam_size"]["maximum"], 32);
  EXPECT_EQ(options["patience"]["exclusiveMinimum"], true);
  EXPECT_EQ(options["patience"]["maximum"], 1000.0);
  EXPECT_FALSE(options["alpha"].contains("minimum"));
  EXPECT_EQ(options["end_tokens"]["items"]["minimum"], 0);
  EXPECT_THAT(options["decoder"]["enum"], ::testing::IsSupersetOf({"beam", "greedy", "sampling"}));
  EXPECT_THAT(options["decoder"]["enum"], ::testing::Not(::testing::Contains("mbr")));
  const Json& request = schemas["Request"]["properties"];
  EXPECT_EQ(request["n_best"]["maximum"], 32);
  EXPECT_EQ(request["text"]["oneOf"][0]["maxLength"], 5000);
  EXPECT_EQ(request["text"]["oneOf"][1]["maxItems"], 20);
  EXPECT_EQ(request["glossary"]["oneOf"][0]["maxItems"], 10'000);
  EXPECT_EQ(schemas["Term"]["properties"]["target"]["oneOf"][1]["maxItems"], 100);
}

}  // namespace
}  // namespace dragoman::server
