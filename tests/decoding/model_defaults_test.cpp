#include "dragoman/decoding/model_defaults.h"

#include "dragoman/decoding/option_table.h"
#include "dragoman/decoding/options.h"
#include "dragoman/decoding/search_plan.h"
#include "error_message.h"

#include <gmock/gmock.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::decoding {
namespace {

using core::Json;
using dragoman::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// The options that a user who says `said` gets of a model whose folder says `folder`.
DecodingOptions options_of(const Search& said, const Json& folder) {
  const Search defaults = read_model_defaults(folder, "test");
  return resolve({&said, &defaults});
}

TEST(ModelDefaults, AreBehindTheUserAndBeforeTheProgram) {
  const Json folder = {{"beam_size", 8}, {"alpha", 1.8}, {"no_repeat_ngram", 3}};
  const DecodingOptions untouched = options_of({}, folder);
  EXPECT_EQ(untouched.beam_size, 8);
  EXPECT_EQ(untouched.length_penalty.alpha, 1.8);
  EXPECT_EQ(untouched.no_repeat_ngram, 3);
  EXPECT_EQ(untouched.patience, DecodingOptions().patience);
  const DecodingOptions overridden = options_of({.beam_size = 4, .no_repeat_ngram = 0}, folder);
  EXPECT_EQ(overridden.beam_size, 4) << "also where that is what the program has anyway";
  EXPECT_EQ(overridden.no_repeat_ngram, 0);
  EXPECT_EQ(overridden.length_penalty.alpha, 1.8);
}

TEST(ModelDefaults, ALengthPenaltyComesWithItsOwnStrength) {
  const Json folder = {{"length_penalty", "ct2"}, {"alpha", 1.8}};
  EXPECT_EQ(options_of({.length_penalty = "gnmt"}, folder).length_penalty.alpha, LengthPenalty::gnmt().alpha);
  EXPECT_EQ(options_of({.length_penalty = "gnmt", .alpha = 0.3}, folder).length_penalty.alpha, 0.3);
  const LengthPenalty stronger = options_of({.alpha = 0.0}, folder).length_penalty;
  EXPECT_EQ(stronger.alpha, 0);
  EXPECT_EQ(stronger.stop, StopRule::kBestEnded) << "still of the model's preset, ct2";
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
  EXPECT_THAT(error({{"length_penalty", "gnat"}}), AllOf(HasSubstr("gnmt"), Not(HasSubstr("alpha"))));
  EXPECT_THAT(error({{"length_penalty", "0.6"}}), HasSubstr("a number is the strength, `alpha`"));
  EXPECT_THAT(error({{"minimum_length", 9}, {"maximum_length", 3}}), HasSubstr("minimum_length"));
  EXPECT_THAT(error({{"decoder", "greedy"}, {"beam_size", 9}}), AllOf(HasSubstr("beam_size"), HasSubstr("greedy")));
  for (const char* key : {"n_best", "alignment"}) EXPECT_THAT(error({{key, 1}}), HasSubstr("set by the caller")) << key;
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

/// A value of each row that is not its default.
Json another_value(const core::Option& option) {
  if (option.name == "decoder") return "sampling";
  if (option.name == "suppress_tokens") return Json::array({Json::array({5})});
  if (option.name == "end_tokens") return Json::array({5});
  if (option.name == "alpha") return 0.25;
  if (!option.choices.empty()) return option.choices[option.choices[0] == option.fallback.get() ? 1 : 0];
  if (option.fallback.get().is_boolean()) return !option.fallback.get().get<bool>();
  if (option.name == "beam_groups") return 2;
  if (option.name == "top_p") return 0.5;
  if (option.fallback.get().is_number_float()) return option.fallback.get().get<double>() + 1;
  if (option.fallback.get().is_number_unsigned()) return option.fallback.get().get<std::uint64_t>() + 1;
  return option.fallback.get().get<int>() + 1;
}

/// A row whose member were forgotten in resolve(), in search_of() or in the reader would leave no trace.
TEST(Search, EveryRowOfItsTableReachesTheResolvedOptionsAndComesBack) {
  for (const core::Option& option : search_table().options()) {
    const Json json =
        Json::parse(Json{{option.name, another_value(option)}}.dump());  // as from a file: seeds are unsigned
    core::OptionReader reader(json, "test");
    Search said;
    search_table().read(reader, said);
    EXPECT_NE(said, Search()) << option.name;
    const DecodingOptions options = resolve({&said});
    EXPECT_NE(options, DecodingOptions()) << option.name;
    const Search all = search_of(options);
    EXPECT_EQ(resolve({&all}), options) << option.name;
    Json written = Json::object();
    search_table().write(all, written);
    EXPECT_EQ(written[option.name], json[option.name]) << option.name;
    EXPECT_EQ(merged({}, said), said) << option.name;
    EXPECT_EQ(merged(said, search_of({})).decoder.has_value(), true);
  }
}

TEST(Search, WhoeverGoesFirstIsHeard) {
  const Search record{.beam_size = 7};
  const Search request{.beam_size = 6, .n_best = 2, .alpha = 0.1};
  const Search user{.beam_size = 5, .n_best = 3, .length_penalty = "gnmt", .patience = 2.0};
  const Search folder{.beam_size = 3, .length_penalty = "ct2", .alpha = 1.4, .patience = 1.5, .no_repeat_ngram = 3};
  const DecodingOptions options = resolve({&record, &request, &user, &folder});
  EXPECT_EQ(options.beam_size, 7);
  EXPECT_EQ(options.n_best, 2);
  EXPECT_EQ(options.length_penalty, LengthPenalty::gnmt(0.1)) << "an alpha alone is for the preset behind it";
  EXPECT_EQ(options.patience, 2);
  EXPECT_EQ(options.no_repeat_ngram, 3);
  EXPECT_EQ(options.maximum_length_factor, DecodingOptions().maximum_length_factor);
  EXPECT_EQ(resolve({&user, &folder}).length_penalty, LengthPenalty::gnmt()) << "a preset comes with its own alpha";
}

TEST(Search, ChecksWhatAllSayTogether) {
  const Search many{.n_best = 8};
  const Search wide{.beam_size = 8};
  EXPECT_THAT(message_of([&] { resolve({&many}); }, core::ErrorCode::kInvalidArgument),
              HasSubstr("n_best is 8; it must be at most `beam_size`"));
  EXPECT_EQ(resolve({&many, &wide}).n_best, 8);
  const Search nothing{.beam_size = 0};
  EXPECT_THAT(message_of([&] { resolve({&nothing}); }, core::ErrorCode::kInvalidArgument),
              StartsWith("beam_size is 0; it must be"));
  const Search unknown{.mbr_utility = "comet"};
  EXPECT_THAT(message_of([&] { resolve({&unknown}); }, core::ErrorCode::kInvalidArgument),
              StartsWith("mbr_utility is 'comet'; it must be chrf or bleu"));
}

TEST(SearchPlan, TakesWhatIsSaidBeforeItsOwnOptions) {
  const Search user{
      .length_penalty = "ct2", .alpha = 1.4, .suppress_tokens = std::vector<std::vector<std::int32_t>>{{5}}};
  const SearchPlan plan(resolve({&user}));
  const DecodingOptions options =
      plan.options_with({.beam_size = 6, .alpha = 0.0, .suppress_tokens = std::vector<std::vector<std::int32_t>>{{7}}});
  EXPECT_EQ(options.beam_size, 6);
  EXPECT_EQ(options.length_penalty, LengthPenalty::ct2(0));
  EXPECT_EQ(options.suppressed, (std::vector<std::vector<std::int32_t>>{{5}, {7}})) << "these add up";
}

}  // namespace
}  // namespace dragoman::decoding
