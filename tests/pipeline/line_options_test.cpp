#include "stream/line_options.h"

#include "tiny_model.h"
#include "translation/target_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LineOptionsTest : public ::testing::Test {
 protected:
  static Record record(std::string text, Json fields = Json::object()) {
    Record result;
    result.line = 1;
    result.text = std::move(text);
    result.fields = std::move(fields);
    return result;
  }
  Record translated(const TranslateOptions& options, Record one) {
    std::vector<Record> records;
    records.push_back(std::move(one));
    return Translator(Model(model_.path(), host_, {.threads = 1}), options).translate(std::move(records)).front();
  }
  Record translated(Json fields) { return translated({}, record("the cat sat", std::move(fields))); }

  dragoman::testing::TinyModel model_;
  plugins::Host host_;
};

TEST_F(LineOptionsTest, TranslationsBeginWithTheirPrefixInEverySearch) {
  for (const char* strategy : {"beam", "greedy", "sampling"}) {
    TranslateOptions options{.details = true};
    options.search.decoder = strategy;
    const std::string free = translated(options, record("the cat sat")).text;
    ASSERT_FALSE(free.starts_with("the dog"));
    const Record own = translated(options, record("the cat sat", {{"target_prefix", "the dog"}}));
    EXPECT_THAT(own.text, StartsWith("the dog")) << strategy;
    EXPECT_EQ(own.fields["token_log_probabilities"].size(),
              own.fields["tokens"].size() + (own.fields["stopped_by"] == "end" ? 1 : 0));
    options.target_prefix = "ein Hund";
    EXPECT_THAT(translated(options, record("the cat sat")).text, StartsWith("ein Hund")) << strategy;
    EXPECT_EQ(translated(options, record("the cat sat", {{"target_prefix", "the dog"}})).text, own.text);
    options.ignore_line_options = true;
    EXPECT_THAT(translated(options, record("the cat sat", {{"target_prefix", "the dog"}})).text,
                StartsWith("ein Hund"));
  }
}

/// The option speaks of every sentence, a line's own prefix of the line.
TEST_F(LineOptionsTest, EachSentenceBeginsWithThePrefixOfAllTheFirstWithTheLinesOwn) {
  Record two = record("the cat sat the dog sat");
  two.sentences = {{0, 11}, {12, 23}};
  TranslateOptions options{.details = true, .target_prefix = "the log"};
  Record all = translated(options, two);
  EXPECT_THAT(all.fields["segments"][0]["translation"], StartsWith("the log"));
  EXPECT_THAT(all.fields["segments"][1]["translation"], StartsWith("the log"));
  two.fields["target_prefix"] = "the mat";
  Record own = translated(options, two);
  EXPECT_THAT(own.fields["segments"][0]["translation"], StartsWith("the mat"));
  EXPECT_EQ(own.fields["segments"][1], all.fields["segments"][1]);
}

TEST_F(LineOptionsTest, RecordOptionsOfACallerHaveAPrefix) {
  Translator translator(Model(model_.path(), host_, {.threads = 1}), {.target_prefix = "the log"});
  EXPECT_THAT(translator.translate("the cat sat"), StartsWith("the log"));
  EXPECT_THAT(translator.translate("the cat sat", RecordOptions{}), StartsWith("the log"));
  EXPECT_THAT(translator.translate("the cat sat", RecordOptions{.target_prefix = "the mat"}), StartsWith("the mat"));
  EXPECT_EQ(translator.translate("the cat sat", RecordOptions{.target_prefix = ""}),
            Translator(Model(model_.path(), host_, {.threads = 1}), {}).translate("the cat sat"));
}

TEST_F(LineOptionsTest, SuppressedTextsDoNotComeOutAsTheyAreTokenised) {
  const Model loaded(model_.path(), host_);
  for (const char* strategy : {"beam", "greedy", "sampling"}) {
    TranslateOptions options{.details = true};
    options.search.decoder = strategy;
    const Record free = translated(options, record("the dog sat on the log"));
    // A token that it does choose, and two that follow one another.
    const Json& tokens = free.fields["tokens"];
    ASSERT_GE(tokens.size(), 3U);
    const auto has_pair = [&](const Json& pieces) {
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
        if (pieces[i] == tokens[1] && pieces[i + 1] == tokens[2]) return true;
      return false;
    };
    options.search.suppress_tokens =
        std::vector<std::vector<std::int32_t>>{{*loaded.view().target_tokenizer->id(tokens[1].get<std::string>()),
                                                *loaded.view().target_tokenizer->id(tokens[2].get<std::string>())}};
    EXPECT_FALSE(has_pair(translated(options, record("the dog sat on the log")).fields["tokens"])) << strategy;
  }
  decoding::DecodingOptions options;
  add_suppressed(loaded.view(), {"the", "the dog"}, options);
  const auto encode = [&](const char* text) { return loaded.view().target_tokenizer->encode(text); };
  EXPECT_EQ(options.suppressed, (std::vector<std::vector<std::int32_t>>{encode("the"), encode("the dog")}));
}

TEST_F(LineOptionsTest, ALineMaySayHowItIsSearched) {
  TranslateOptions options{.details = true};
  TranslateOptions greedy = options;
  greedy.search.decoder = "greedy";
  const Record plain = translated(greedy, record("the cat sat"));
  Record own = translated(options, record("the cat sat", {{"decoding", {{"decoder", "greedy"}}}}));
  EXPECT_EQ(own.text, plain.text);
  EXPECT_EQ(own.fields["score"], plain.fields["score"]);
  own = translated(options, record("the cat sat", {{"decoding", {{"n-best", 3}, {"maximum_length", 2}}}}));
  EXPECT_EQ(own.fields["n_best"].size(), 3U);
  EXPECT_LE(own.fields["tokens"].size(), 2U);
  own = translated(options, record("the cat sat", {{"suppress", plain.text}}));
  EXPECT_FALSE(own.failed());
}

TEST_F(LineOptionsTest, WhatMakesNoSenseFailsItsLineOnly) {
  const std::vector<std::pair<Json, std::string>> wrong = {
      {{{"target_prefix", 7}}, "target_prefix: must be a text"},
      {{{"decoding", {{"beam-size", 3}, {"beam_size", 4}}}}, "decoding: 'beam_size' is there twice"},
      {{{"decoding", {{"beam_size", 3}, {"beam-size", 3}}}}, "decoding: 'beam_size' is there twice"},
      {{{"decoding", {{"n_best", 1}, {"n-best", 2}}}}, "decoding: 'n_best' is there twice"},
      {{{"decoding", {{"maximum-length", 1}, {"maximum_length", 2}}}}, "decoding: 'maximum_length' is there twice"},
      {{{"target_prefix", "the </s> dog"}}, "which ends a translation"},
      {{{"target_prefix", std::string(400, 'x')}}, "translations have at most 23"},
      {{{"suppress", {1}}}, "suppress: must be a text or a list of texts"},
      {{{"suppress", " "}}, "a blank text is no term"},
      {{{"decoding", 1}}, "decoding: must be an object"},
      {{{"decoding", {{"beam_size", 0}}}}, "beam_size"},
      {{{"decoding", {{"beem_size", 2}}}}, "beam_size"},
      {{{"decoding", {{"beam_size", 129}}}}, "may be at most 128 in a line"},
      {{{"decoding", {{"top_k", 5}}}}, "only sampling search looks at it"},
      {{{"decoding", {{"decoder", "greedy"}, {"beam_size", 3}}}}, "only beam search looks at it"},
      {{{"decoding", {{"decoder", "magic"}}}}, "unknown search strategy 'magic'"},
      {{{"decoding", {{"repetition_penalty", 1e300}}}}, "repetition_penalty"},
  };
  for (const auto& [fields, message] : wrong) {
    const Record failed = translated(fields);
    EXPECT_TRUE(failed.failed()) << fields;
    EXPECT_THAT(failed.message, HasSubstr(message));
  }
}

/// A line goes before a request, a request before the translator's options, and these before the folder.
TEST_F(LineOptionsTest, WhoeverIsNearestToTheRecordIsHeard) {
  formats::write_decoding_defaults(model_.path(), model_.path(), {{"length_penalty", "ct2"}, {"maximum_length", 6}},
                                   plugins::tokenizer_opener(host_));
  const Model model(model_.path(), host_);
  const std::string text = "the dog sat on the log";
  const auto tokens_of = [&](const TranslateOptions& options, const RecordOptions& request, Json fields) {
    Translator translator(model, options);
    std::vector<Record> records;
    records.push_back(record(text, std::move(fields)));
    Record result = translator.translate(std::move(records), request).front();
    EXPECT_FALSE(result.failed()) << result.message;
    return result.fields["tokens"].size();
  };
  const auto exactly = [](std::int32_t length) {
    return decoding::Search{.minimum_length = length, .maximum_length = length};
  };
  const Json line = {{"decoding", {{"minimum_length", 2}, {"maximum_length", 2}}}};
  EXPECT_EQ(tokens_of({.search = {.minimum_length = 6}, .details = true}, {}, {}), 6U) << "as the folder says";
  EXPECT_EQ(tokens_of({.search = exactly(5), .details = true}, {}, {}), 5U);
  EXPECT_EQ(tokens_of({.search = exactly(5), .details = true}, {.search = exactly(4)}, {}), 4U);
  EXPECT_EQ(tokens_of({.search = exactly(5), .details = true}, {.search = exactly(4)}, line), 2U);
  Translator translator(model, {.search = exactly(5)});
  EXPECT_THROW(translator.translate(text, {.search = {.beam_size = 0}}), core::Error);
}

TEST_F(LineOptionsTest, EqualOptionsShareASearch) {
  const Model loaded(model_.path(), host_);
  LineSearches searches(loaded.view());
  const auto usual = std::make_shared<const decoding::SearchPlan>(decoding::DecodingOptions{});
  EXPECT_EQ(searches.get(usual, {}), usual);
  const auto own = searches.get(usual, {.beam_size = 3});
  EXPECT_EQ(own->options().beam_size, 3);
  EXPECT_EQ(searches.get(usual, {.beam_size = 3}), own);
  EXPECT_NE(searches.get(usual, {.beam_size = 3}, {"the"}), own);
  for (int size = 1; size < 128; ++size) searches.get(usual, {.beam_size = size});
  EXPECT_EQ(searches.get(usual, {.beam_size = 3})->options().beam_size, 3);
}

TEST_F(LineOptionsTest, AFileOfSuppressedTextsIsReadLineByLine) {
  const auto path = model_.file("suppressed");
  std::ofstream(path) << " the dog \r\n\n  \nlog\n";
  EXPECT_EQ(read_suppress_file(path), (std::vector<std::string>{"the dog", "log"}));
  std::ofstream(path) << "fine\n\xff\n";
  try {
    read_suppress_file(path);
    FAIL() << "invalid UTF-8 was taken";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("suppressed: line 2 is not valid UTF-8"));
  }
}

}  // namespace
}  // namespace dragoman::pipeline
