// Texts with tags.
#include "error_message.h"
#include "test_data.h"
#include "text/split_stage.h"
#include "tiny_model.h"

#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::pipeline {
namespace {

using dragoman::testing::TinyModel;
using ::testing::HasSubstr;

const RecordOptions kHtml{.markup = Markup::kHtml};

std::string without_tags(const std::string& html) {
  return std::regex_replace(html, std::regex("<[^>]*>"), "");
}

class MarkupTest : public ::testing::Test {
 protected:
  const TinyModel tiny_;
  const Model model_{tiny_.path()};
  Translator translator_{model_};
};

TEST_F(MarkupTest, TheTextIsTranslatedAsWithoutTags) {
  const std::string plain = translator_.translate("the cat sat on the mat");
  const std::string html = translator_.translate("<p class=x>the <b>cat <i>sat</i></b><br/> on the mat</p>", kHtml);
  std::string encoded;
  for (const char c : plain) encoded += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  std::string text = without_tags(html);
  for (std::string* each : {&text, &encoded}) std::erase(*each, ' ');  // <br/> may have added one
  EXPECT_EQ(text, encoded);
  for (const char* tag : {"<p class=x>", "<b>", "<i>", "</i>", "</b>", "<br/>", "</p>"})
    EXPECT_EQ(html.find(tag), html.rfind(tag)) << html;
  EXPECT_LT(html.find("<b>"), html.find("<i>"));
  EXPECT_LT(html.find("</i>"), html.find("</b>"));
}

TEST_F(MarkupTest, SegmentsAreTranslatedSeparately) {
  const std::string html = translator_.translate("<p>the cat</p>\n<p title='the dog'>sat</p>12", kHtml);
  EXPECT_THAT(html, HasSubstr("</p>\n<p title='"));
  EXPECT_TRUE(html.ends_with("</p>12"));
  EXPECT_EQ(translator_.translate("<p>the cat</p>", kHtml), html.substr(0, html.find('\n')));
}

TEST_F(MarkupTest, TextWithoutWordsIsCopied) {
  for (const char* html : {"", " ", "<br>", "<p>12 &amp; 3</p>", "<pre>the cat</pre>", "<script>the cat</script>"})
    EXPECT_EQ(translator_.translate(html, kHtml), html);
}

TEST_F(MarkupTest, SentencesAreThoseOfTheText) {
  Record record;
  record.line = 1;
  record.text = "<p>The <b>cat</b> sat. The <i title='a. B'>dog</i> sat.</p><p>The mat.</p>";
  SplitStage("en", Markup::kHtml).process(record);
  ASSERT_EQ(record.sentences.size(), 4U);  // with the attribute
  std::vector<std::string> told;
  RecordOptions options = kHtml;
  std::mutex mutex;
  options.on_sentence = [&](const TranslatedSentence& sentence) {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(sentence.count, 4U);
    told.emplace_back(sentence.translation);
  };
  options.on_partial = [](const PartialRecord&) { FAIL() << "the beginning of HTML is not known"; };
  const std::string html = translator_.translate({record}, options).front().text;
  EXPECT_EQ(told.size(), 4U);
  EXPECT_THAT(html, HasSubstr("</b>"));
}

TEST_F(MarkupTest, TranslationsAreTheDocumentAndItsParts) {
  RecordOptions options = kHtml;
  std::vector<Translation> found;
  options.on_translations = [&](std::vector<Translation> translations) { found = std::move(translations); };
  const std::string html = translator_.translate("<b>the cat</b> sat", options);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().text, html);
  ASSERT_EQ(found.front().parts.size(), 1U);
  EXPECT_EQ(found.front().parts.front().front().text, translator_.translate("the cat sat"));
}

TEST_F(MarkupTest, LongTextsAreSplit) {
  std::string html = "<p>";
  for (int i = 0; i < 40; ++i) html += "the <b>cat</b> sat on ";
  const std::string translated = translator_.translate(html + "</p>", kHtml);
  for (std::size_t i = 0, at = 0; i < 40; ++i, ++at) {
    at = translated.find("<b>", at);
    ASSERT_NE(at, std::string::npos);
  }
}

TEST_F(MarkupTest, WhatItExcludesIsNamed) {
  const auto error_of = [&](const TranslateOptions& options) {
    return dragoman::testing::error_of([&] { const Translator translator(model_, options); });
  };
  EXPECT_THAT(error_of({.input_pieces = true, .markup = Markup::kHtml}),
              HasSubstr("markup: is about text, but the source is given as pieces; leave it or `input_pieces` out"));
  EXPECT_THAT(error_of({.markup = Markup::kHtml, .attention = {.kind = decoding::AttentionKind::kCross}}),
              HasSubstr("leave it or `attention` out"));
}

TEST(MarkupOfARealModel, TagsFollowTheirWords) {
  const Model model(dragoman::testing::in_source("examples/multi30k/model"));
  Translator translator(model, {.markup = Markup::kHtml});
  EXPECT_EQ(translator.translate("<b>Ein Hund</b> läuft."), "<b>A dog</b> running.");
  EXPECT_EQ(translator.translate("<p>Ein Mann in einem <a href=\"#\">roten Hemd</a> spielt <i>Gitarre</i>.</p>"),
            "<p>A man in a <a href=\"#\">red shirt</a> is playing <i>a guitar</i>.</p>");
}

}  // namespace
}  // namespace dragoman::pipeline
