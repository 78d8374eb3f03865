#include "dragoman/decoding/model_defaults.h"

#include "error_message.h"

#include <gmock/gmock.h>

namespace dragoman::decoding {
namespace {

using core::Json;
using dragoman::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

DecodingOptions options_of(const Json& said, const Json& model_defaults) {
  Json settings = complete_settings(said, model_defaults);
  return read_model_defaults(
      [&] {
        settings.erase("n_best");
        settings.erase("alignment");
        return settings;
      }(),
      "test");
}

TEST(ModelDefaults, AreBehindTheUserAndBeforeTheProgram) {
  const Json model = {{"beam_size", 8}, {"alpha", 1.8}, {"no_repeat_ngram", 3}};
  const DecodingOptions untouched = options_of(Json::object(), model);
  EXPECT_EQ(untouched.beam_size, 8);
  EXPECT_EQ(untouched.length_penalty.alpha, 1.8);
  EXPECT_EQ(untouched.no_repeat_ngram, 3);
  EXPECT_EQ(untouched.patience, DecodingOptions().patience);
  const DecodingOptions overridden = options_of({{"beam_size", 4}, {"no_repeat_ngram", 0}}, model);
  EXPECT_EQ(overridden.beam_size, 4) << "also where that is what the program has anyway";
  EXPECT_EQ(overridden.no_repeat_ngram, 0);
  EXPECT_EQ(overridden.length_penalty.alpha, 1.8);
}

TEST(ModelDefaults, ALengthPenaltyComesWithItsOwnStrength) {
  const Json model = {{"length_penalty", "ct2"}, {"alpha", 1.8}};
  EXPECT_EQ(options_of({{"length_penalty", "gnmt"}}, model).length_penalty.alpha, LengthPenalty::gnmt().alpha);
  EXPECT_EQ(options_of({{"length_penalty", "gnmt"}, {"alpha", 0.3}}, model).length_penalty.alpha, 0.3);
  const LengthPenalty stronger = options_of({{"alpha", 0.0}}, model).length_penalty;
  EXPECT_EQ(stronger.alpha, 0);
  EXPECT_EQ(stronger.stop, StopRule::kBestEnded) << "still of the model's preset, ct2";
}

TEST(ModelDefaults, OtherSettingsStayAsTheyAre) {
  const Json settings = complete_settings({{"model", "m"}, {"details", true}}, {{"alpha", 2}});
  EXPECT_EQ(settings["model"], "m");
  EXPECT_EQ(settings["details"], true);
  EXPECT_EQ(settings["beam_size"], DecodingOptions().beam_size);
}

TEST(ModelDefaults, SayWhatIsWrongWithThem) {
  const auto error = [](const Json& settings) {
    return message_of([&] { read_model_defaults(settings, "m/config.json: decoding"); });
  };
  EXPECT_THAT(error({{"beam_sise", 4}}), AllOf(HasSubstr("m/config.json: decoding"), HasSubstr("beam_size")));
  EXPECT_THAT(error({{"beam_size", 0}}), AllOf(HasSubstr("m/config.json: decoding: beam_size"), HasSubstr("is 0")));
  EXPECT_THAT(error({{"beam_size", "4"}}), HasSubstr("beam_size"));
  EXPECT_THAT(error({{"beam_size", 129}}), HasSubstr("beam_size: may be at most 128"));
  EXPECT_THAT(error({{"repetition_penalty", 1e300}}), HasSubstr("repetition_penalty"));
  EXPECT_THAT(error({{"length_penalty", "gnat"}}), HasSubstr("gnmt"));
  EXPECT_THAT(error({{"minimum_length", 9}, {"maximum_length", 3}}), HasSubstr("minimum_length"));
  EXPECT_THAT(error({{"decoder", "greedy"}, {"beam_size", 9}}), AllOf(HasSubstr("beam_size"), HasSubstr("greedy")));
  for (const char* key : {"n_best", "alignment"})
    EXPECT_THAT(error({{key, 1}}), HasSubstr("whoever translates")) << key;
  EXPECT_THAT(error({{"shortlist", "../lex.gz"}}),
              AllOf(HasSubstr("m/config.json: decoding: shortlist"), HasSubstr("must be shortlist.bin")));
  EXPECT_THAT(error({{"shortlist", 3}}), HasSubstr("shortlist"));
  EXPECT_NO_THROW(read_model_defaults({{"shortlist", "shortlist.bin"}}, "m/config.json: decoding"));
}

TEST(ModelDefaults, WhatTheModelSaysNeedNotBeOfUseToTheSearchThatTheUserWants) {
  DecodingOptions usual;
  usual.beam_size = 8;
  DecodingOptions greedy = usual;
  greedy.strategy = "greedy";
  EXPECT_NO_THROW(require_all_used(greedy, usual));
  greedy.beam_size = 5;
  EXPECT_THROW(require_all_used(greedy, usual), core::Error);
}

}  // namespace
}  // namespace dragoman::decoding
