#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/training/early_stopping.h>

namespace dragoman::training {
namespace {

using ::testing::ElementsAre;

TEST(EarlyStopping, EndsAfterPatienceValidationsWithoutANewBest) {
  EarlyStopping stopping({.higher_is_better = true, .patience = 2});
  EXPECT_TRUE(stopping.observe(1, 10));
  EXPECT_FALSE(stopping.observe(2, 9));
  EXPECT_FALSE(stopping.exhausted());
  EXPECT_TRUE(stopping.observe(3, 11));
  EXPECT_FALSE(stopping.observe(4, 11)) << "an equal value is no progress";
  EXPECT_FALSE(stopping.exhausted());
  EXPECT_FALSE(stopping.observe(5, 10.5));
  EXPECT_TRUE(stopping.exhausted());
  EXPECT_THAT(stopping.ranking(), ElementsAre(ScoredUpdate{3, 11}));
}

TEST(EarlyStopping, ALossIsBetterWhenLower) {
  EarlyStopping stopping({.higher_is_better = false, .patience = 1});
  EXPECT_TRUE(stopping.observe(1, 3));
  EXPECT_TRUE(stopping.observe(2, 2));
  EXPECT_FALSE(stopping.observe(3, 2.5));
  EXPECT_TRUE(stopping.exhausted());
}

TEST(EarlyStopping, WithoutPatienceNeverEnds) {
  EarlyStopping stopping({.higher_is_better = true});
  for (int i = 0; i < 100; ++i) stopping.observe(i, -i);
  EXPECT_FALSE(stopping.exhausted());
}

TEST(EarlyStopping, RemembersTheBestInOrder) {
  EarlyStopping stopping({.higher_is_better = true, .remember = 3});
  for (const auto& [update, value] : {std::pair{1, 5.0}, {2, 7.0}, {3, 6.0}, {4, 7.0}, {5, 1.0}})
    stopping.observe(update, value);
  EXPECT_THAT(stopping.ranking(), ElementsAre(ScoredUpdate{2, 7}, ScoredUpdate{4, 7}, ScoredUpdate{3, 6}));
}

TEST(EarlyStopping, GoesOnWhereItWasSaved) {
  EarlyStopping first({.higher_is_better = true, .patience = 3, .remember = 2});
  for (const auto& [update, value] : {std::pair{1, 0.1}, {2, 1.0 / 3}, {3, 0.2}, {4, 0.25}})
    first.observe(update, value);
  EarlyStopping second({.higher_is_better = true, .patience = 3, .remember = 2});
  second.restore(core::parse_json(first.save().dump(), "state"), "state");
  EXPECT_EQ(second.ranking(), first.ranking());
  EXPECT_EQ(second.validations_without_best(), 2);
  second.observe(5, 0);
  EXPECT_TRUE(second.exhausted());
}

// Row 10 of the faults that were found: a NaN was the best, was saved as null, and null could not be read back.
TEST(EarlyStopping, AValueThatIsNotFiniteIsNeverTheBest) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const bool higher : {true, false}) {
    EarlyStopping stopping({.higher_is_better = higher, .patience = 4, .remember = 3});
    for (const double value : {kNan, kInfinity, -kInfinity}) EXPECT_FALSE(stopping.observe(1, value)) << value;
    EXPECT_TRUE(stopping.ranking().empty());
    EXPECT_EQ(stopping.validations_without_best(), 3);
    EXPECT_TRUE(stopping.observe(2, 5));
    EXPECT_FALSE(stopping.observe(3, kNan));
    EXPECT_THAT(stopping.ranking(), ElementsAre(ScoredUpdate{2, 5}));
    EarlyStopping restored({.higher_is_better = higher, .patience = 4, .remember = 3});
    restored.restore(core::parse_json(stopping.save().dump(), "state"), "state");
    EXPECT_EQ(restored.ranking(), stopping.ranking());
  }
}

TEST(EarlyStopping, ReadsTheNullOfAnOlderState) {
  EarlyStopping stopping({.higher_is_better = true, .remember = 2});
  stopping.restore(
      core::parse_json(
          R"({"validations_without_best": 2, "ranking": [{"update": 5, "value": null}, {"update": 7, "value": 1.5}]})",
          "state"),
      "state");
  EXPECT_THAT(stopping.ranking(), ElementsAre(ScoredUpdate{7, 1.5}));
  EXPECT_EQ(stopping.validations_without_best(), 2);
}

TEST(EarlyStopping, SortsARankingThatIsNot) {
  EarlyStopping stopping({.higher_is_better = true, .remember = 2});
  stopping.restore(core::parse_json(R"({"ranking": [{"update": 1, "value": 3}, {"update": 2, "value": 5},
                                                    {"update": 3, "value": 4}]})",
                                    "state"),
                   "state");
  EXPECT_THAT(stopping.ranking(), ElementsAre(ScoredUpdate{2, 5}, ScoredUpdate{3, 4}));
}

TEST(EarlyStopping, RefusesAStateThatIsNone) {
  EarlyStopping stopping({});
  EXPECT_THROW(stopping.restore({{"ranking", 3}}, "state"), core::Error);
  EXPECT_THROW(stopping.restore({{"validations_without_best", -1}}, "state"), core::Error);
  EXPECT_THROW(stopping.restore({{"validations_without_best", std::numeric_limits<std::int64_t>::max()}}, "state"),
               core::Error);
  EXPECT_THROW(stopping.restore({{"ranking", {{{"update", "x"}, {"value", 1}}}}}, "state"), core::Error);
}

}  // namespace
}  // namespace dragoman::training
