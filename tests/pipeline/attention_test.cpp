#include "dragoman/pipeline/attention.h"

#include "dragoman/pipeline/embedder.h"
#include "dragoman/pipeline/scorer.h"
#include "dragoman/pipeline/translator.h"
#include "test_data.h"
#include "tiny_model.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using decoding::AttentionKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

AttentionSettings read_attention(const Json& json) {
  core::OptionReader options(json, "test");
  AttentionSettings settings;
  attention_table().read(options, settings);
  options.finish();
  check(settings, options);
  return settings;
}

std::string refusal(const Json& json) {
  try {
    read_attention(json);
  } catch (const core::Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(AttentionSettings, AreReadAsPeopleWriteThem) {
  const AttentionSettings settings = read_attention({{"attention", "decoder"},
                                                     {"attention_layers", "0,2-4,-1"},
                                                     {"attention_heads", Json::array({1, 3})},
                                                     {"attention_mean", true},
                                                     {"attention_full_context", true},
                                                     {"attention_svg", "pictures"}});
  EXPECT_EQ(settings.kind, AttentionKind::kDecoder);
  EXPECT_THAT(settings.request.layers, ElementsAre(0, 2, 3, 4, -1));
  EXPECT_THAT(settings.request.heads, ElementsAre(1, 3));
  EXPECT_TRUE(settings.inner().attention->full_context);
  EXPECT_EQ(settings.inner().attention->kind, AttentionKind::kDecoder);
  EXPECT_EQ(settings.svg, "pictures");
  EXPECT_THAT(read_attention({{"attention", "cross"}, {"attention_layers", 2}}).request.layers, ElementsAre(2));
  EXPECT_THAT(read_attention({{"attention", "cross"}, {"attention_heads", "all"}}).request.heads, ElementsAre());
  EXPECT_TRUE(read_attention(Json::object()).inner().empty());
}

TEST(AttentionSettings, WhatMakesNoSenseIsRefusedWithItsKey) {
  EXPECT_THAT(refusal({{"attention", "sideways"}}), HasSubstr("attention"));
  EXPECT_THAT(refusal({{"attention_mean", true}}), HasSubstr("attention_mean: needs attention"));
  EXPECT_THAT(refusal({{"attention_npy", "x"}}), HasSubstr("attention_npy: needs attention"));
  EXPECT_THAT(refusal({{"attention", "encoder"}, {"attention_full_context", true}}),
              HasSubstr("attention_full_context"));
  for (const char* heads : {"3-1", "x", "", "1,", "-1", "0-99999", "1-2-3"})
    EXPECT_THAT(refusal({{"attention", "cross"}, {"attention_heads", heads}}), HasSubstr("attention_heads")) << heads;
  EXPECT_THAT(refusal({{"attention", "cross"}, {"attention_layers", Json::array({"a"})}}),
              HasSubstr("attention_layers"));
}

SentenceAttention two_heads() {
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  return {.kind = AttentionKind::kDecoder,
          .before_softmax = true,
          .maps = {.layers = {2},
                   .heads = {0, 3},
                   .queries = 2,
                   .keys = 2,
                   .values = {1, minus_infinity, 0.5F, 2, -1, minus_infinity, 0, 0.25F}},
          .queries = {"<s>", "\"R&B\""},
          .keys = {"<s>", "\"R&B\""}};
}

TEST(SentenceAttentionTest, BecomesJson) {
  const Json json = to_json(two_heads());
  EXPECT_EQ(
      json,
      Json::parse(R"({"of": "decoder", "layers": [2], "heads": [0, 3], "queries": ["<s>", "\"R&B\""],
      "keys": ["<s>", "\"R&B\""], "scores": [[[[1.0, null], [0.5, 2.0]], [[-1.0, null], [0.0, 0.25]]]]})")
          .patch(Json::array(
              {{{"op", "replace"}, {"path", "/scores/0/0/0/1"}, {"value", -std::numeric_limits<double>::infinity()}},
               {{"op", "replace"},
                {"path", "/scores/0/1/0/1"},
                {"value", -std::numeric_limits<double>::infinity()}}})));
  // As it is written, JSON knows no infinity.
  EXPECT_THAT(core::one_line(json), HasSubstr("[[1.0,null],[0.5,2.0]]"));
}

TEST(SentenceAttentionTest, BecomesAPictureThatIsWellFormed) {
  const std::string svg = to_svg(two_heads(), "1 < 2");
  EXPECT_THAT(svg, HasSubstr("1 &lt; 2"));
  EXPECT_THAT(svg, HasSubstr("layer 2, head 3"));
  EXPECT_THAT(svg, HasSubstr("&quot;R&amp;B&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("R&B")));
  // The greatest is darkest, the least white, and what cannot be seen is not drawn: 6 squares.
  EXPECT_THAT(svg, HasSubstr("fill=\"#08306b\""));
  EXPECT_THAT(svg, HasSubstr("fill=\"#ffffff\""));
  SentenceAttention odd = two_heads();
  odd.keys = {
      "a\xEF\xBF\xBE"
      "b\x01",
      "\xFF"};
  const std::string of_odd = to_svg(odd, "");
  EXPECT_THAT(of_odd, HasSubstr(">a?b?</text>"));
  EXPECT_THAT(of_odd, Not(HasSubstr("\xFF")));
  std::size_t squares = 0;
  for (std::size_t at = svg.find("<title>"); at != svg.npos; at = svg.find("<title>", at + 1)) ++squares;
  EXPECT_EQ(squares, 6U);
}

/// Squares grow with the square of the sentence.
TEST(SentenceAttentionTest, APictureOfTooManySquaresSaysSo) {
  const auto picture_of = [](std::int64_t length) {
    const auto tokens = static_cast<std::size_t>(length);
    return to_svg({.maps = {.layers = {0, 1},
                            .heads = {0, 1},
                            .queries = length,
                            .keys = length,
                            .values = std::vector<float>(4 * tokens * tokens, 0.5F)},
                   .queries = std::vector<std::string>(tokens, "<piece>"),
                   .keys = std::vector<std::string>(tokens, "<piece>")},
                  "line 3 & more");
  };
  const std::string most = picture_of(256);  // 2^18 squares
  EXPECT_THAT(most, HasSubstr("&lt;piece&gt; \u2192 &lt;piece&gt;"));
  EXPECT_LT(most.size(), kMaxSquaresOfPicture * 200);
  const std::string refused = picture_of(257);
  EXPECT_LT(refused.size(), 2000U);
  EXPECT_THAT(refused, HasSubstr("line 3 &amp; more"));
  EXPECT_THAT(refused, HasSubstr("4 panels of 257 rows and 257 columns are more than the 262144 squares"));
  EXPECT_THAT(refused, HasSubstr("attention_npy"));
}

class AttentionOfTextTest : public ::testing::Test {
 protected:
  testing::TinyModel model_;
  plugins::Host host_;
};

TEST_F(AttentionOfTextTest, StandsInTheFieldsOfATranslationAndInFiles) {
  const testing::TemporaryFolder folder;
  for (const AttentionKind kind : {AttentionKind::kEncoder, AttentionKind::kDecoder, AttentionKind::kCross}) {
    AttentionSettings attention{.kind = kind, .npy = (folder / "arrays").string()};
    Translator translator(Model(model_.path(), host_),
                          {.search = {.maximum_length = 5}, .details = true, .attention = attention});
    std::vector<Record> records(2);
    records[0].line = 7;
    records[0].text = "the cat";
    records[1].line = 8;
    records[1].text = "ein Hund <und>";
    records = translator.translate(std::move(records));
    for (const Record& record : records) {
      const Json& shown = record.fields["attention"];
      const auto tokens = record.fields["tokens"].get<std::vector<std::string>>();
      const auto queries = shown["queries"].get<std::vector<std::string>>();
      const auto keys = shown["keys"].get<std::vector<std::string>>();
      if (kind == AttentionKind::kCross) {
        EXPECT_EQ(queries, tokens);  // it was cut, so no end is predicted
        EXPECT_EQ(keys.back(), "</s>");
      } else if (kind == AttentionKind::kDecoder) {
        EXPECT_EQ(queries.front(), "<s>");
        EXPECT_EQ(keys, queries);
      }
      ASSERT_EQ(shown["weights"].size(), kind == AttentionKind::kEncoder ? 1U : 2U);
      for (const Json& row : shown["weights"][0][1]) {
        double sum = 0;
        for (const Json& weight : row) sum += weight.get<double>();
        EXPECT_NEAR(sum, 1, 1e-5);
      }
      EXPECT_TRUE(std::filesystem::exists(folder / ("arrays/" + std::to_string(record.line) + ".npy")));
    }
  }
}

/// Scoring shows of given texts what translating shows of its own result, the end included.
TEST_F(AttentionOfTextTest, IsTheSameWhetherTranslatedOrScored) {
  const std::string bundled = testing::in_source("examples/multi30k/model");
  const AttentionSettings attention{.kind = AttentionKind::kCross, .request = {.layers = {-1}, .mean = true}};
  std::vector<Record> records(1);
  records[0].text = "Ein Mann schläft auf einem Sofa.";
  records = Translator(Model(bundled, host_), {.details = true, .attention = attention}).translate(std::move(records));
  const auto scores = Scorer(Model(bundled, host_), {.attention = attention})
                          .score({{"Ein Mann schläft auf einem Sofa.", records[0].text, "here"}});
  ASSERT_EQ(scores[0].pieces, records[0].fields["tokens"].get<std::vector<std::string>>());
  EXPECT_EQ(to_json(*scores[0].attention), records[0].fields["attention"]);
  EXPECT_EQ(scores[0].attention->queries.back(), "</s>");
}

TEST_F(AttentionOfTextTest, EveryPartOfALineHasItsFile) {
  const testing::TemporaryFolder folder;
  Translator translator(Model(model_.path(), host_),
                        {.search = {.maximum_length = 3},
                         .attention = {.kind = AttentionKind::kCross, .svg = (folder / "pictures").string()}});
  std::vector<Record> records(2);
  records[0].line = 1;
  for (int i = 0; i < 30; ++i) records[0].text += "the cat ";
  records[1].line = 2;
  records = translator.translate(std::move(records));
  EXPECT_TRUE(records[0].fields.empty());
  EXPECT_TRUE(std::filesystem::exists(folder / "pictures/1-1.svg"));
  EXPECT_TRUE(std::filesystem::exists(folder / "pictures/1-2.svg"));
  EXPECT_FALSE(std::filesystem::exists(folder / "pictures/1.svg"));
  EXPECT_FALSE(std::filesystem::exists(folder / "pictures/2.svg"));  // an empty line has no attention
}

TEST_F(AttentionOfTextTest, EmbeddingsArePooledStates) {
  const std::vector<LinePair> lines{{"the cat", "ein Hund", "1"}, {"", "", "2"}, {"the dog sat", "Katze", "3"}};
  for (const bool of_decoder : {false, true}) {
    const auto embed = [&](Pooling pooling, const decoding::StatesRequest& wanted) {
      decoding::StatesRequest states = wanted;
      states.of_decoder = of_decoder;
      return Embedder(Model(model_.path(), host_, {.threads = 2}), {.pooling = pooling, .states = states}).embed(lines);
    };
    const decoding::StatesRequest all_layers{.final_states = false};
    const auto states = embed(Pooling::kNone, all_layers);
    const auto mean = embed(Pooling::kMean, all_layers);
    const auto first = embed(Pooling::kFirst, all_layers);
    const auto max = embed(Pooling::kMax, all_layers);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const decoding::TokenStates& all = states[i].states;
      EXPECT_EQ(all.layers, of_decoder ? 3 : 2);
      EXPECT_EQ(all.width, 16);
      EXPECT_EQ(static_cast<std::size_t>(all.tokens), states[i].pieces.size());
      EXPECT_EQ(states[i].pieces.front() == "<s>", of_decoder);
      EXPECT_EQ(states[i].pieces.back() == "</s>", !of_decoder);
      for (std::int64_t layer = 0; layer < all.layers; ++layer)
        for (std::int64_t column = 0; column < all.width; ++column) {
          double sum = 0;
          double greatest = -1e30;
          const auto at = [&](std::int64_t token) {
            return all.values[static_cast<std::size_t>((layer * all.tokens + token) * all.width + column)];
          };
          for (std::int64_t token = 0; token < all.tokens; ++token) {
            sum += at(token);
            greatest = std::max<double>(greatest, at(token));
          }
          const auto pooled = static_cast<std::size_t>(layer * all.width + column);
          EXPECT_NEAR(mean[i].states.values[pooled], sum / static_cast<double>(all.tokens), 1e-6);
          EXPECT_EQ(first[i].states.values[pooled], at(0));
          EXPECT_EQ(max[i].states.values[pooled], static_cast<float>(greatest));
        }
    }
    // One layer is that one of all; the last state is the final norm's, not a layer's.
    const auto last = embed(Pooling::kNone, {.final_states = false, .layers = {-1}});
    const auto& whole = states[2].states.values;
    EXPECT_EQ(last[2].states.values,
              std::vector<float>(whole.end() - states[2].states.tokens * states[2].states.width, whole.end()));
    EXPECT_NE(embed(Pooling::kNone, {})[2].states.values, last[2].states.values);
  }
}

TEST_F(AttentionOfTextTest, LinesThatTheModelCannotTakeAreNamed) {
  Embedder embedder(Model(model_.path(), host_));
  std::string line;
  for (int i = 0; i < 30; ++i) line += "the cat ";
  try {
    embedder.embed({{"the cat", "", "in.de: line 1"}, {line, "", "in.de: line 2"}});
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("in.de: line 2"));
  }
}

}  // namespace
}  // namespace dragoman::pipeline
