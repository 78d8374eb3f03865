#include "pipeline/glossary.h"

#include "stream/line_options.h"
#include "tiny_model.h"
#include "translation/target_terms.h"

#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> found(const Glossary& glossary, std::string_view text) {
  std::vector<std::string> sources;
  for (const std::size_t entry : glossary.find(text)) sources.push_back(glossary.entries()[entry].source);
  return sources;
}

Glossary glossary_of(std::initializer_list<const char*> sources, bool exact = false) {
  std::vector<GlossaryEntry> entries;
  for (const char* source : sources) entries.push_back({source, {"x"}, exact});
  return Glossary(std::move(entries));
}

TEST(Glossary, FindsWholeWordsOnly) {
  const Glossary glossary = glossary_of({"Haus", "Straße", "a.b", "C++"});
  EXPECT_THAT(found(glossary, "Das Haus, die Straße."), ElementsAre("Haus", "Straße"));
  EXPECT_THAT(found(glossary, "HAUS-Tür und (haus)"), ElementsAre("Haus")) << "once, in any case";
  EXPECT_THAT(found(glossary, "Hausboot, Rathaus, Straßen, Haus2, _Haus"), ElementsAre());
  EXPECT_THAT(found(glossary, "a.b in C++, nicht a.bc"), ElementsAre("a.b", "C++"));
  EXPECT_THAT(found(glossary, ""), ElementsAre());
  EXPECT_THAT(found(Glossary({}), "Haus"), ElementsAre());
}

TEST(Glossary, TheLongestOfOverlappingTermsCounts) {
  const Glossary glossary = glossary_of({"New York", "New", "York Times", "New York Times", "b c d", "a b", "d e"});
  EXPECT_THAT(found(glossary, "the New York Times"), ElementsAre("New York Times"));
  EXPECT_THAT(found(glossary, "New York is New"), ElementsAre("New York", "New"));
  EXPECT_THAT(found(glossary, "a b c d e"), ElementsAre("b c d")) << "though a shorter one comes first";
  EXPECT_THAT(found(glossary, "a b d e"), ElementsAre("a b", "d e"));
  EXPECT_THAT(found(glossary_of({"a b", "b c"}), "a b c"), ElementsAre("a b")) << "the first of equally long ones";
}

TEST(Glossary, ComparesCharactersAndNotBytes) {
  EXPECT_THAT(found(glossary_of({"Caf\u00e9"}), "im cafe\u0301 dort"), ElementsAre("Caf\u00e9"));
  EXPECT_THAT(found(glossary_of({"Cafe"}), "im Cafe\u0301 dort"), ElementsAre());
  EXPECT_THAT(found(glossary_of({"Polish"}, true), "polish it"), ElementsAre());
  EXPECT_THAT(found(glossary_of({"Polish"}, true), "Polish it"), ElementsAre("Polish"));
  EXPECT_THAT(found(glossary_of({"東京"}), "私は東京に住む"), ElementsAre("東京")) << "no blanks between words";
  const Glossary both({{"Bank", {"bank"}, false}, {"BANK", {"B. A. N. K."}, true}});
  EXPECT_THAT(found(both, "BANK und Bank"), ElementsAre("BANK", "Bank"));
}

/// As many spellings of one word as there may be: a search that goes through them for each word of the text would take
/// the product of both.
TEST(Glossary, SpellingsOfOneWordTakeNoTime) {
  constexpr std::size_t kLetters = 16;
  std::vector<GlossaryEntry> entries;
  for (std::size_t bits = 0; bits < std::size_t{1} << kLetters; ++bits) {
    std::string word;
    for (std::size_t i = 0; i < kLetters; ++i)
      word += static_cast<char>((bits >> i & 1) != 0 ? 'A' + static_cast<int>(i) : 'a' + static_cast<int>(i));
    entries.push_back({std::move(word), {"x"}, true});
  }
  const Glossary glossary(entries);
  std::string text;
  for (std::size_t i = 0; i < 20000; ++i) text += entries[i * 7919 % entries.size()].source + " ";
  const std::clock_t start = std::clock();
  EXPECT_EQ(glossary.find(text).size(), 20000U);
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
  EXPECT_THAT(found(glossary, "ABCDEFGHIJKLMNOp"), ElementsAre("ABCDEFGHIJKLMNOp"));
}

class GlossaryFileTest : public ::testing::Test {
 protected:
  Glossary read(const std::string& content) {
    std::ofstream(folder_ / "terms.tsv", std::ios::binary) << content;
    return Glossary::read(folder_ / "terms.tsv");
  }
  std::string error_of(const std::string& content) {
    try {
      read(content);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }
  dragoman::testing::TemporaryFolder folder_;
};

TEST_F(GlossaryFileTest, HasTermsInColumns) {
  const Glossary glossary =
      read("Haus\thouse\r\n\n Boot \t boat \texact\nHAUS\thome\tany\nHaus\thouse\nboot\tship\texact\n");
  ASSERT_EQ(glossary.entries().size(), 3U);
  EXPECT_THAT(glossary.entries()[0].targets, ElementsAre("house", "home"));
  EXPECT_EQ(glossary.entries()[1].source, "Boot");
  EXPECT_THAT(glossary.entries()[1].targets, ElementsAre("boat"));
  EXPECT_TRUE(glossary.entries()[1].exact_case);
  EXPECT_THAT(glossary.entries()[2].targets, ElementsAre("ship"));
}

TEST_F(GlossaryFileTest, SaysWhatIsWrongWhere) {
  EXPECT_THAT(error_of("a\tb\nc\n"), HasSubstr("terms.tsv: line 2: has 1 columns"));
  EXPECT_THAT(error_of("a\tb\tany\tx\n"), HasSubstr("line 1: has 4 columns"));
  EXPECT_THAT(error_of("a\t \n"), HasSubstr("line 1: a term is empty"));
  EXPECT_THAT(error_of("a\tb\tmaybe\n"), HasSubstr("it must be exact or any"));
  EXPECT_THAT(error_of("a\t\xff\n"), HasSubstr("line 1: is not valid UTF-8"));
  EXPECT_THAT(error_of("a\t" + std::string(1001, 'b') + "\n"), HasSubstr("a term has 1001 bytes; there may be 1000"));
  std::string targets;
  for (int i = 0; i < 100; ++i) targets += "a\t" + std::to_string(i) + "\n";
  EXPECT_EQ(error_of(targets), "no error");
  EXPECT_THAT(error_of(targets + "a\tone more\n"), HasSubstr("line 101: 'a' has more than 100 target terms"));
}

class ConstrainedTranslationTest : public ::testing::Test {
 protected:
  Record translated(const TranslateOptions& options, std::string text, Json fields = Json::object()) {
    std::vector<Record> records(1);
    records[0].line = 1;
    records[0].text = std::move(text);
    records[0].fields = std::move(fields);
    return Translator(Model(model_.path(), host_, {.threads = 1}), options).translate(std::move(records)).front();
  }
  static bool has_word(const std::string& text, const std::string& word) {
    return !Glossary({{word, {}, true}}).find(text).empty();
  }
  dragoman::testing::TinyModel model_;
  plugins::Host host_;
};

TEST_F(ConstrainedTranslationTest, TermsComeOutAsWholeWords) {
  for (const char* preset : {"fairseq", "gnmt", "marian", "ct2", "none"}) {
    TranslateOptions options{.details = true};
    options.search.length_penalty = preset;
    options.constraints = {"Hund"};
    Record result = translated(options, "the cat sat on", {{"constraints", {"the log", {"Katze", "mat"}}}});
    ASSERT_FALSE(result.failed()) << result.message;
    EXPECT_TRUE(has_word(result.text, "Hund") && has_word(result.text, "the log")) << result.text;
    EXPECT_TRUE(has_word(result.text, "Katze") || has_word(result.text, "mat")) << result.text;
    EXPECT_FALSE(result.fields.contains("unmet_constraints"));
    result = translated(options, "the cat sat on", {{"target_prefix", "ein Hund und"}});
    EXPECT_TRUE(result.text.starts_with("ein Hund und"));
  }
}

TEST_F(ConstrainedTranslationTest, GlossariesAreForSentencesThatHoldTheTerm) {
  TranslateOptions options;
  const std::string free = translated(options, "the dog sat").text;
  options.glossary = std::make_shared<const Glossary>(
      Glossary({{"cat", {"Katze"}, false}, {"the cat", {"eine Katze"}, false}, {"mat", {"log", "Hund"}, false}}));
  EXPECT_EQ(translated(options, "the dog sat").text, free);
  EXPECT_TRUE(has_word(translated(options, "a Cat sat").text, "Katze"));
  EXPECT_TRUE(has_word(translated(options, "the cat sat").text, "eine Katze"));
  const std::string either = translated(options, "on the mat").text;
  EXPECT_TRUE(has_word(either, "log") || has_word(either, "Hund")) << either;
  const Json pair{{"source", "dog"}, {"target", "Hund"}};
  EXPECT_TRUE(has_word(translated(options, "the dog sat", {{"constraints", {pair}}}).text, "Hund"));
  EXPECT_EQ(translated(options, "the dogs", {{"constraints", {pair}}}).text, translated(options, "the dogs").text);
}

TEST_F(ConstrainedTranslationTest, EachSentenceHasItsOwn) {
  std::vector<Record> records(1);
  records[0].text = "the cat sat the dog sat";
  records[0].sentences = {{0, 11}, {12, 23}};
  records[0].fields["constraints"] = Json::array({Json{{"source", "dog"}, {"target", "Hund"}}});
  TranslateOptions options{.details = true};
  Translator translator(Model(model_.path(), host_), options);
  const Json segments = translator.translate(records).front().fields["segments"];
  EXPECT_TRUE(has_word(segments[1]["translation"].get<std::string>(), "Hund"));
  EXPECT_EQ(segments[0]["translation"], translator.translate("the cat sat"));
  records[0].fields["constraints"] = {"Hund"};
  const Record failed = translator.translate(records).front();
  EXPECT_THAT(failed.message, HasSubstr("the line is translated in 2 parts"));
}

TEST_F(ConstrainedTranslationTest, WhatLengthForbidsIsReported) {
  TranslateOptions options{.details = true};
  options.search.maximum_length = 1;
  const Record result = translated(options, "the cat", {{"constraints", {"the dog sat on the log"}}});
  EXPECT_FALSE(result.failed());
  EXPECT_EQ(result.fields["unmet_constraints"], Json::array({"the dog sat on the log"}));
}

TEST_F(ConstrainedTranslationTest, WhatMakesNoSenseFailsItsLine) {
  const std::vector<std::pair<Json, std::string>> wrong = {
      {"Hund", "constraints: must be a list"},
      {Json::array({1}), "constraints: must be a text or a list of texts"},
      {Json::array({Json::array()}), "an empty list"},
      {Json::array({" "}), "a blank text is no term"},
      {Json::array({Json{{"source", "dog"}}}), "constraints: target"},
      {Json::array({Json{{"source", "dog"}, {"traget", "Hund"}}}), "constraints"},
  };
  for (const auto& [constraints, message] : wrong) {
    const Record failed = translated({}, "the dog", {{"constraints", constraints}});
    EXPECT_TRUE(failed.failed()) << constraints;
    EXPECT_THAT(failed.message, HasSubstr(message)) << constraints;
  }
  TranslateOptions greedy;
  greedy.search.decoder = "greedy";
  EXPECT_THAT(translated(greedy, "the dog", {{"constraints", {"Hund"}}}).message,
              HasSubstr("only a beam search of at least 2 hypotheses"));
}

/// Whatever the tokenizer's marks are, words that go on are seen.
TEST_F(ConstrainedTranslationTest, WordBoundariesAreThoseOfTheText) {
  const Model loaded(model_.path(), host_);
  const tokenizer::Tokenizer& tokenizer = *loaded.view().target_tokenizer;
  const auto boundaries = target_word_boundaries(tokenizer);
  const std::vector<std::int32_t> word = tokenizer.encode("dog");
  const auto after = [&](const char* text) {
    std::vector<std::int32_t> both = tokenizer.encode(text);
    return std::vector<std::int32_t>(both.begin() + static_cast<std::ptrdiff_t>(word.size()), both.end());
  };
  EXPECT_FALSE(boundaries->joined(word, tokenizer.encode("sat")));
  EXPECT_TRUE(boundaries->joined(word, after("dogz")));
  EXPECT_FALSE(boundaries->joined(word, after("dog.")));
  EXPECT_TRUE(within_a_word(U'a', U'b') && within_a_word(U'a', U'7') && within_a_word(U'e', 0x301));
  EXPECT_FALSE(within_a_word(U'a', U'-') || within_a_word(U'東', U'京') || within_a_word(U' ', U'a'));
}

}  // namespace
}  // namespace dragoman::pipeline
