#include "error_message.h"
#include "test_data.h"
#include "waiting.h"

#include <atomic>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/server/translation_service.h>

namespace dragoman::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path bundled() {
  return dragoman::testing::in_source("examples/multi30k/model");
}

const std::string kDog = "Ein Hund läuft über das Gras.";
const std::string kMan = "Ein Mann fährt Fahrrad.";

class TranslationServiceTest : public ::testing::Test {
 protected:
  static ServiceOptions options(std::vector<ServedModel> models = {{"de", "en", bundled()}}) {
    ServiceOptions made;
    made.models = std::move(models);
    made.model.threads = 2;
    return made;
  }
  /// What the library translates a sentence into.
  static std::string of_library(const std::string& sentence) {
    static pipeline::Translator translator{pipeline::Model(bundled(), {.threads = 1})};
    return translator.translate(sentence);
  }
  static TranslateRequest request(std::vector<std::string> texts) {
    TranslateRequest made;
    made.texts = std::move(texts);
    made.source = "de";
    made.target = "en";
    return made;
  }
};

TEST_F(TranslationServiceTest, SentencesAreTranslatedAloneAndTheSpaceBetweenThemStays) {
  TranslationService service(options());
  const TranslateResult result =
      wait_for(service, request({"  " + kDog + "  " + kMan + "\r\n\r\n\t" + kMan + "\n", "", " \n ", kDog}));
  ASSERT_EQ(result.error(), nullptr);
  ASSERT_EQ(result.texts.size(), 4u);
  EXPECT_EQ(result.texts[0].text,
            "  " + of_library(kDog) + "  " + of_library(kMan) + "\r\n\r\n\t" + of_library(kMan) + "\n");
  EXPECT_EQ(result.texts[1].text, "");
  EXPECT_EQ(result.texts[2].text, " \n ");
  EXPECT_EQ(result.texts[3].text, of_library(kDog));
  EXPECT_FALSE(result.texts[0].detected.has_value());
}

TEST_F(TranslationServiceTest, EachTextHasItsOwnLanguage) {
  ServiceOptions made = options({{"de", "en", bundled()}, {"nl", "en", bundled()}});
  made.detector = [](std::string_view text, std::size_t) -> std::vector<LanguageGuess> {
    if (text.starts_with("Ein")) return {{"fr", 0.5}, {"deu", 0.4}};
    if (text.starts_with("Het")) return {{"nl", 0.9}};
    return {};
  };
  TranslationService service(std::move(made));
  TranslateRequest asked = request({kDog, "Het regent.", "12"});
  asked.source = "auto";
  const TranslateResult result = wait_for(service, std::move(asked));
  ASSERT_EQ(result.error(), nullptr);
  std::vector<std::pair<std::string, double>> detected;
  for (const TranslatedText& text : result.texts)
    detected.emplace_back(text.detected->language, text.detected->confidence);
  EXPECT_THAT(detected, ElementsAre(std::pair{"de", 0.4}, std::pair{"nl", 0.9}, std::pair{"de", 0.0}));
}

TEST_F(TranslationServiceTest, APairWithoutAModelIsTranslatedThroughAnother) {
  ServiceOptions made = options({{"de", "en", bundled()}, {"en", "fr", bundled()}});
  EXPECT_FALSE(TranslationService(made).offers("de", "fr"));
  made.pivot = "en";
  TranslationService service(std::move(made));
  EXPECT_TRUE(service.offers("de", "fr"));
  EXPECT_FALSE(service.offers("fr", "de"));
  TranslateRequest asked = request({kDog + " " + kMan});
  asked.target = "fr";
  EXPECT_EQ(wait_for(service, asked).texts.front().text,
            of_library(of_library(kDog)) + " " + of_library(of_library(kMan)));
  asked.glossary = make_terms({{.source = "Hund", .targets = {"chien"}}});
  EXPECT_THAT(reason(wait_for(service, asked).error()).second, HasSubstr("through en"));
}

TEST_F(TranslationServiceTest, ALanguageIsItsOwnTranslation) {
  TranslationService service(options());
  TranslateRequest asked = request({"Good morning!  "});
  asked.source = "en";
  EXPECT_EQ(wait_for(service, asked).texts.front().text, "Good morning!  ");
}

TEST_F(TranslationServiceTest, AlternativesAreThoseOfTheLibrary) {
  TranslationService service(options());
  TranslateRequest asked = request({kDog});
  asked.alternatives = 3;
  const TranslatedText text = wait_for(service, asked).texts.front();
  pipeline::Translator translator{pipeline::Model(bundled(), {.threads = 1})};
  std::vector<std::string> expected;
  pipeline::Record record;
  record.line = 1;
  record.text = kDog;
  pipeline::RecordOptions four;
  four.search.n_best = 4;
  four.on_translations = [&](const std::vector<pipeline::Translation>& found) {
    for (const pipeline::Translation& one : found) expected.push_back(one.text);
  };
  translator.submit(std::move(record), std::move(four)).get();
  ASSERT_EQ(expected.size(), 4u);
  EXPECT_EQ(text.text, expected.front());
  std::set<std::string> distinct(text.alternatives.begin(), text.alternatives.end());
  EXPECT_EQ(distinct.size(), text.alternatives.size());
  EXPECT_FALSE(distinct.contains(text.text));
  EXPECT_EQ(std::set<std::string>(expected.begin() + 1, expected.end()), distinct);
}

TEST_F(TranslationServiceTest, AGlossaryAConstraintAndAPrefixAreMet) {
  for (const char* decoder : {"beam", "greedy"}) {
    ServiceOptions made = options();
    made.translate.search.decoder = decoder;
    TranslationService service(std::move(made));
    TranslateRequest asked = request({kDog + " " + kMan});
    asked.glossary = make_terms({{.source = "hund", .targets = {"poodle"}}});
    EXPECT_THAT(wait_for(service, asked).texts.front().text, HasSubstr("poodle")) << decoder;
    asked.glossary = nullptr;
    asked.target_prefix = "Here";
    EXPECT_THAT(wait_for(service, asked).texts.front().text, ::testing::StartsWith("Here")) << decoder;
    asked.constraints = {"bicycle"};
    EXPECT_THAT(reason(wait_for(service, asked).error()).second, HasSubstr("more than one sentence"));
    asked.texts = {kMan};
    EXPECT_THAT(wait_for(service, asked).texts.front().text, HasSubstr("bicycle")) << decoder;
  }
}

TEST_F(TranslationServiceTest, OptionsAreCheckedByTheTableOfTheSearch) {
  TranslationService service(options());
  const auto problem = [&](const std::string& json) {
    TranslateRequest asked = request({kDog});
    asked.options = core::parse_json(json, "options");
    try {
      return reason(wait_for(service, asked).error()).second;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kBadInput);
      return std::string(error.what());
    }
  };
  EXPECT_THAT(problem(R"({"beam_sise": 3})"), HasSubstr("beam_size"));
  EXPECT_THAT(problem(R"({"beam_size": "x"})"), AllOf(HasSubstr("options"), HasSubstr("beam_size")));
  EXPECT_THAT(problem(R"({"beam_size": 33})"), HasSubstr("at most 32"));
  EXPECT_THAT(problem(R"({"decoder": "mbr"})"), HasSubstr("Bayes risk"));
  EXPECT_THAT(problem(R"({"temperature": 2.0})"), HasSubstr("temperature"));  // beam search does not use it
  EXPECT_THAT(problem(R"([1])"), HasSubstr("object"));
  EXPECT_EQ(problem(R"({"beam-size": 2})"), "no error");
  TranslateRequest asked = request({kDog});
  asked.options = core::parse_json(R"({"decoder": "sampling", "seed": 5, "temperature": 5.0})", "options");
  EXPECT_NE(wait_for(service, asked).texts.front().text, of_library(kDog));
}

TEST_F(TranslationServiceTest, WhatIsNotOfferedIsRefused) {
  TranslationService service(options());
  TranslateRequest asked = request({kDog});
  asked.target = "zz";
  EXPECT_THAT(dragoman::testing::error_of([&] { service.translate(asked, [](TranslateResult) {}); }),
              HasSubstr("zz is not supported"));
  asked.target = "de";
  asked.source = "en";
  EXPECT_THAT(dragoman::testing::error_of([&] { service.translate(asked, [](TranslateResult) {}); }),
              HasSubstr("German (de) is not available as a target language from English (en)"));
}

TEST_F(TranslationServiceTest, DetailsHaveTheScoresOfTheLibrary) {
  TranslationService service(options());
  TranslateRequest asked = request({kDog + " " + kMan});
  asked.details = asked.alignment = true;
  const TranslatedText text = wait_for(service, asked).texts.front();
  ASSERT_EQ(text.sentences.size(), 2u);
  EXPECT_EQ(text.sentences[1].source, kMan);
  ASSERT_EQ(text.sentences[1].translations.size(), 1u);
  const pipeline::Translation& best = text.sentences[1].translations.front();
  EXPECT_EQ(best.text, of_library(kMan));
  EXPECT_EQ(best.token_scores.size(), best.tokens.size() + 1);
  EXPECT_EQ(best.alignment.size(), best.token_scores.size());
}

TEST_F(TranslationServiceTest, PartsOfATextAreItsBeginning) {
  ServiceOptions made = options();
  made.translate.search.decoder = "greedy";
  TranslationService service(std::move(made));
  TranslateRequest asked = request({" " + kDog + "\n" + kMan + "  " + kDog + "\n", kMan});
  std::mutex mutex;
  std::vector<std::string> told(2);
  int calls = 0;
  asked.on_partial = [&](const PartialText& partial) {
    const std::lock_guard lock(mutex);
    told[partial.text] += partial.more;
    ++calls;
  };
  const TranslateResult result = wait_for(service, asked);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(told[0], result.texts[0].text);
  EXPECT_EQ(told[1], result.texts[1].text);
  EXPECT_GT(calls, 10) << "greedy search decides token by token";
}

TEST_F(TranslationServiceTest, TagsOfHtmlStayWithTheirWords) {
  TranslationService service(options());
  TranslateRequest asked = request(
      {"<p>" + kDog + " " + kMan + "</p>\n<ul><li title=\"" + kMan + "\">" + kDog + "</li></ul><code>x</code>"});
  asked.format = TextFormat::kHtml;
  EXPECT_EQ(wait_for(service, asked).texts.front().text, "<p>" + of_library(kDog) + " " + of_library(kMan) +
                                                             "</p>\n<ul><li title=\"" + of_library(kMan) + "\">" +
                                                             of_library(kDog) + "</li></ul><code>x</code>");
  asked.texts = {"<b>Ein Hund</b> läuft über das <i>Gras</i>.", "a < b"};
  std::string told;
  asked.on_partial = [&](const PartialText& partial) { told += partial.text == 0 ? partial.more : ""; };
  const TranslateResult result = wait_for(service, asked);
  EXPECT_EQ(result.texts[0].text, "<b>A dog</b> runs across the <i>grass</i>.");
  EXPECT_EQ(told, result.texts[0].text);
}

TEST_F(TranslationServiceTest, ALargeRequestDoesNotDelayASmallOne) {
  TranslationService service(options());
  std::atomic<int> texts_done = 0;
  TranslateRequest large = request(std::vector<std::string>(500, kDog));
  large.on_text = [&](std::size_t, const TranslatedText&) { ++texts_done; };
  std::future<TranslateResult> large_result = submit(service, std::move(large));
  EXPECT_EQ(wait_for(service, request({kMan})).texts.front().text, of_library(kMan));
  EXPECT_LT(texts_done, 350);
  const TranslateResult result = large_result.get();
  EXPECT_EQ(texts_done, 500);
  for (const TranslatedText& text : result.texts) ASSERT_EQ(text.text, of_library(kDog));
}

TEST_F(TranslationServiceTest, WithoutRoomARequestIsRefusedAtOnce) {
  ServiceOptions made = options();
  made.characters_in_flight = 1000;
  TranslationService service(std::move(made));
  std::promise<void> go_on;
  TranslateRequest first = request({std::string(800, ' ')});
  first.on_text = [&](std::size_t, const TranslatedText&) { go_on.get_future().wait(); };
  std::future<TranslateResult> result = submit(service, std::move(first));
  try {
    service.translate(request({std::string(300, 'x')}), [](TranslateResult) {});
    ADD_FAILURE() << "there was room";
  } catch (const Busy& busy) {
    EXPECT_GE(busy.retry_after().count(), 1);
    EXPECT_THAT(busy.what(), HasSubstr("busy"));
  }
  EXPECT_EQ(service.load().requests, 1u);
  EXPECT_EQ(service.load().refused, 1u);
  EXPECT_THAT(dragoman::testing::error_of(
                  [&] { service.translate(request({std::string(2000, 'x')}), [](TranslateResult) {}); }),
              HasSubstr("in parts"));
  go_on.set_value();
  result.get();
  EXPECT_EQ(wait_for(service, request({kDog})).texts.front().text, of_library(kDog));
  EXPECT_EQ(service.load().characters, 0u);
}

TEST_F(TranslationServiceTest, CountsTheCharactersOfTranslatedTexts) {
  TranslationService service(options());
  wait_for(service, request({"Ein H\xC3\xBCndchen.", "", "Ein Mann."}));
  EXPECT_EQ(service.load().requests_done, 1u);
  EXPECT_EQ(service.load().characters_done, 13u + 9u);
  TranslateRequest twice = request({"Ein Hund."});
  twice.alternatives = 2;
  twice.details = twice.alignment = true;
  wait_for(service, std::move(twice));
  EXPECT_EQ(service.load().characters_done, 13u + 9u + 9u) << "not what the request weighs";
  TranslateRequest failing = request({"Ein Hund.", "Ein Mann. Eine Frau."});
  failing.constraints = {"dog"};
  EXPECT_NE(wait_for(service, std::move(failing)).error(), nullptr);
  EXPECT_EQ(service.load().characters_done, 13u + 9u + 9u + 9u) << "a text that failed";
}

TEST_F(TranslationServiceTest, AStopEndsARequestAndFreesItsRoom) {
  TranslationService service(options());
  std::stop_source stop;
  TranslateRequest asked = request(std::vector<std::string>(5000, kDog));
  asked.stop = stop.get_token();
  std::future<TranslateResult> result = submit(service, std::move(asked));
  stop.request_stop();
  EXPECT_EQ(reason(result.get().error()).first, core::ErrorCode::kInterrupted);
  EXPECT_EQ(service.load().characters, 0u);
  TranslateRequest stopped = request({kDog});
  stopped.stop = stop.get_token();
  EXPECT_EQ(reason(wait_for(service, std::move(stopped)).error()).first, core::ErrorCode::kInterrupted);
  EXPECT_EQ(wait_for(service, request({kDog})).texts.front().text, of_library(kDog));
}

TEST_F(TranslationServiceTest, AStopAfterTheDeadlineIsAnErrorOfItsOwn) {
  using Clock = std::chrono::steady_clock;
  TranslationService service(options());
  const auto is_late = [&](Clock::time_point deadline) {
    std::stop_source stop;
    TranslateRequest asked = request(std::vector<std::string>(5000, kDog));
    asked.stop = stop.get_token();
    asked.deadline = deadline;
    std::vector<std::exception_ptr> errors;
    asked.on_text = [&](std::size_t, const TranslatedText& text) {
      if (text.error) errors.push_back(text.error);
    };
    std::future<TranslateResult> result = submit(service, std::move(asked));
    stop.request_stop();
    for (const TranslatedText& text : result.get().texts)
      if (text.error) errors.push_back(text.error);
    EXPECT_FALSE(errors.empty());
    return std::ranges::count_if(errors, [](const std::exception_ptr& error) {
             try {
               std::rethrow_exception(error);
             } catch (const DeadlinePassed&) {
               return true;
             } catch (...) {
               return false;
             }
           }) == std::ssize(errors);
  };
  EXPECT_TRUE(is_late(Clock::now()));
  EXPECT_FALSE(is_late(Clock::now() + std::chrono::hours(1)));
}

TEST_F(TranslationServiceTest, ModelsAreReplacedWithoutLosingARequest) {
  TranslationService service(options());
  std::future<TranslateResult> before = submit(service, request(std::vector<std::string>(300, kDog)));
  service.reload();
  std::future<TranslateResult> after = submit(service, request({kMan}));
  EXPECT_EQ(before.get().error(), nullptr);
  EXPECT_EQ(after.get().texts.front().text, of_library(kMan));
}

TEST_F(TranslationServiceTest, TheEndOfTheServiceEndsItsRequests) {
  std::future<TranslateResult> result;
  {
    TranslationService service(options());
    result = submit(service, request(std::vector<std::string>(5000, kDog)));
  }
  EXPECT_EQ(reason(result.get().error()).first, core::ErrorCode::kInterrupted);
}

TEST_F(TranslationServiceTest, LanguagesAreFoundInOtherSpellings) {
  const TranslationService service(options({{"de", "en", bundled()}, {"zh-Hans", "en", bundled()}}));
  for (const char* code : {"de", "DE", "deu", "de_DE", "de-AT", "deu_Latn"})
    EXPECT_EQ(service.find_language(code), "de");
  for (const char* code : {"zh", "zh-CN", "ZH-hans", "zho_Hans"}) EXPECT_EQ(service.find_language(code), "zh-Hans");
  for (const char* code : {"", "x", "fr", "auto", "zh-Hant", "de/en", "12"})
    EXPECT_EQ(service.find_language(code), std::nullopt) << code;
  const std::vector<Language> languages = service.languages();
  ASSERT_EQ(languages.size(), 3u);
  EXPECT_EQ(languages[0].name, "German");
  EXPECT_THAT(languages[0].targets, ElementsAre("en"));
  EXPECT_TRUE(languages[1].targets.empty());
  EXPECT_EQ(service.models().front().type, "transformer");
}

TEST_F(TranslationServiceTest, APairHasOneModel) {
  const auto start = [] { TranslationService(options({{"de", "en", bundled()}, {"de", "en", "other"}})); };
  EXPECT_THAT(dragoman::testing::message_of(start, core::ErrorCode::kInvalidArgument),
              HasSubstr("de-en has two models"));
}

TEST(ParseServedModel, ReadsPairsAndFolders) {
  const auto parse = [](const std::string& word) {
    const ServedModel model = parse_served_model(word);
    return model.source + " " + model.target + " " + model.folder.string();
  };
  EXPECT_EQ(parse("de-en=models/a"), "de en models/a");
  EXPECT_EQ(parse("zh-Hans:en=m"), "zh-Hans en m");
  EXPECT_EQ(parse("en-*=m"), "en * m");
  EXPECT_EQ(parse("models/a=b"), "* * models/a=b");
  EXPECT_EQ(parse("m"), "* * m");
  for (const char* word : {"", "de=m", "de-en=", "zh-Hans-en=m", "-en=m", "=m"})
    EXPECT_THROW(parse_served_model(word), core::Error) << word;
}

}  // namespace
}  // namespace dragoman::server
