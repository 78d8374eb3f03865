#include "formats_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/tokenizer/learn_codes.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::string> lines_of(std::span<const CodesWord> words, const LearnCodesOptions& options) {
  std::vector<std::string> lines;
  for (const auto& [left, right] : learn_codes(words, options)) lines.push_back(left + " " + right);
  return lines;
}

TEST(LearnCodes, SameMergesAsSubwordNmt) {
  // golden/make_codes_golden.py wrote the codes of subword-nmt 0.3.8.
  const core::Json rows = core::load_json(testing::golden_file("learned_codes.json").string());
  ASSERT_EQ(rows.size(), 6U);
  for (const core::Json& row : rows) {
    std::vector<CodesWord> words;
    for (const core::Json& word : row["words"])
      words.push_back({word[0].get_ref<const std::string&>(), word[1].get<std::uint64_t>()});
    EXPECT_EQ(lines_of(words, {.merges = row["merges"].get<std::size_t>(),
                               .min_frequency = row["min_frequency"].get<std::int64_t>()}),
              row["codes"].get<std::vector<std::string>>());
  }
}

TEST(LearnCodes, EndsWithoutPairs) {
  const std::vector<CodesWord> words{{"a", 9}, {"", 9}, {"bc", 1}};
  EXPECT_THAT(learn_codes({}), IsEmpty());
  EXPECT_THAT(learn_codes(words), IsEmpty());
  EXPECT_THAT(learn_codes(words, {.min_frequency = 1}), ElementsAre(Pair("b", "c</w>")));
}

TEST(LearnCodes, RefusesWhatItCannotCount) {
  const std::vector<CodesWord> words{{"\xE9", 2}};
  EXPECT_THAT(testing::error_of([&] { learn_codes(words); }), HasSubstr("'\\xe9' is not valid UTF-8"));
  EXPECT_THAT(testing::error_of([&] { learn_codes({}, {.min_frequency = 0}); }), HasSubstr("at least 1"));
  std::stop_source stop;
  stop.request_stop();
  const std::vector<CodesWord> pair{{"ab", 2}};
  EXPECT_THAT(testing::error_of([&] { learn_codes(pair, {}, {}, stop.get_token()); }), HasSubstr("interrupted"));
}

}  // namespace
}  // namespace dragoman::tokenizer
