#include "small_task.h"
#include "test_data.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/yaml.h>
#include <dragoman/training/starting_recipe.h>

namespace dragoman::training {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A corpus whose two sides are equally long, in a Latin alphabet.
CorpusSize corpus_of(double megabytes) {
  const auto bytes = static_cast<std::uint64_t>(megabytes * 1e6);
  return {.pairs = bytes / 100 + 1,
          .source_bytes = bytes,
          .target_bytes = bytes,
          .characters = 120,
          .frequent_characters = 80};
}

std::int64_t tokens_per_update(const StartingRecipe& recipe) {
  return recipe.batch_tokens * recipe.accumulate;
}

TEST(StartingRecipe, MoreTextHasNoSmallerVocabularyModelOrBatchAndNoFewerUpdates) {
  StartingRecipe less = choose_recipe(corpus_of(0.001));
  for (double megabytes = 0.001; megabytes < 2e5; megabytes *= 1.07) {
    const StartingRecipe more = choose_recipe(corpus_of(megabytes));
    EXPECT_GE(more.vocabulary, less.vocabulary) << megabytes;
    EXPECT_GE(more.d_model, less.d_model) << megabytes;
    EXPECT_GE(more.heads, less.heads) << megabytes;
    EXPECT_GE(more.feed_forward, less.feed_forward) << megabytes;
    EXPECT_GE(more.layers, less.layers) << megabytes;
    EXPECT_GE(tokens_per_update(more), tokens_per_update(less)) << megabytes;
    EXPECT_GE(more.updates, less.updates) << megabytes;
    EXPECT_GE(more.validation_every, less.validation_every) << megabytes;
    // A wider model takes a lower rate, and of one model less text needs no less dropout.
    if (more.d_model > less.d_model)
      EXPECT_LE(more.learning_rate, less.learning_rate) << megabytes;
    else
      EXPECT_LE(more.dropout, less.dropout) << megabytes;
    less = more;
  }
}

TEST(StartingRecipe, RunsOutlastTheirWarmUpAndAreValidatedSeveralTimes) {
  for (double megabytes = 0.0001; megabytes < 2e5; megabytes *= 1.3) {
    const StartingRecipe recipe = choose_recipe(corpus_of(megabytes));
    EXPECT_GE(recipe.updates, 2 * recipe.warmup - recipe.warmup / 4) << megabytes;
    EXPECT_GE(recipe.updates / recipe.validation_every, 10) << megabytes;
    EXPECT_LE(recipe.updates / recipe.validation_every, 25) << megabytes;
    EXPECT_EQ(recipe.d_model % recipe.heads, 0) << megabytes;
    EXPECT_GE(recipe.epochs, 1) << megabytes;
    EXPECT_NEAR(recipe.learning_rate,
                1 / std::sqrt(static_cast<double>(recipe.d_model) * static_cast<double>(recipe.warmup)), 5e-5)
        << megabytes;
  }
}

/// The sizes are those of the published corpora.
TEST(StartingRecipe, KnownCorporaGetTheirPublishedRecipes) {
  const StartingRecipe multi30k = choose_recipe({.pairs = 29'000,
                                                 .source_bytes = 2'081'398,
                                                 .target_bytes = 1'772'238,
                                                 .characters = 111,
                                                 .frequent_characters = 70});
  EXPECT_EQ(multi30k.vocabulary, 4'000);
  EXPECT_EQ(multi30k.d_model, 256);
  EXPECT_EQ(multi30k.layers, 6);
  EXPECT_EQ(multi30k.updates, 3'000);
  EXPECT_NEAR(multi30k.learning_rate, 0.002, 0.0003);
  EXPECT_EQ(multi30k.epochs, 25);

  const StartingRecipe iwslt14 = choose_recipe(corpus_of(18));
  EXPECT_EQ(iwslt14.vocabulary, 10'000);
  EXPECT_EQ(iwslt14.feed_forward, 1'024);
  EXPECT_EQ(iwslt14.dropout, 0.3);
  EXPECT_EQ(tokens_per_update(iwslt14), 4'096);

  const StartingRecipe wmt14 = choose_recipe(corpus_of(600));
  EXPECT_EQ(wmt14.vocabulary, 32'000);
  EXPECT_EQ(wmt14.d_model, 512);
  EXPECT_EQ(wmt14.feed_forward, 2'048);
  EXPECT_EQ(wmt14.dropout, 0.1);
  EXPECT_EQ(wmt14.updates, 100'000);
  EXPECT_NEAR(static_cast<double>(tokens_per_update(wmt14)), 25'000, 1'000);
}

TEST(StartingRecipe, AVocabularyHasRoomForItsAlphabet) {
  CorpusSize chinese = corpus_of(2);
  chinese.characters = 4'100;
  chinese.frequent_characters = 2'600;
  const StartingRecipe recipe = choose_recipe(chinese);
  EXPECT_LT(recipe.character_coverage, 1);
  EXPECT_GE(recipe.vocabulary, 256 + 3 + 2'600 + 3'000) << "bytes, special tokens, characters and merges";
  CorpusSize cyrillic = corpus_of(2);
  cyrillic.characters = 700;
  EXPECT_EQ(choose_recipe(cyrillic).character_coverage, 1);
  EXPECT_GE(choose_recipe(cyrillic).vocabulary, 256 + 3 + 700 + 3'000);
}

class StartingConfigurationTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static std::string error_of(const std::string& source, const std::string& target) {
    try {
      measure_corpus(source, target);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }

  dragoman::testing::TemporaryFolder folder_;
};

TEST_F(StartingConfigurationTest, CountsTextAndNotBlankLines) {
  const std::string source = write("s", "ab\r\n\n\xC3\xA4 x\nlast");
  const std::string target = write("t", "cd\n  ef \n \nz");
  const CorpusSize size = measure_corpus(source, target);
  EXPECT_EQ(size.pairs, 2U) << "the second has no source, the third no target";
  EXPECT_EQ(size.source_bytes, 6U);
  EXPECT_EQ(size.target_bytes, 3U);
  EXPECT_EQ(size.characters, 8U) << "a b l s t c d z";
}

TEST_F(StartingConfigurationTest, FrequentCharactersAreThoseOfTheCoverage) {
  std::string rare;
  for (char32_t c = 0x4E00; c < 0x4E00 + 5; ++c) core::append_utf8(rare, c);
  const std::string text = std::string(60'000, 'a') + std::string(40'000, 'b') + rare + "\n";
  const CorpusSize size = measure_corpus(write("s", text), write("t", "a\n"));
  EXPECT_EQ(size.characters, 7U);
  EXPECT_EQ(size.frequent_characters, 2U);
}

TEST_F(StartingConfigurationTest, RefusesFilesThatCannotBeTrainedOn) {
  const std::string two = write("two", "a\nb\n");
  const std::string three = write("three", "a\nb\nc\n");
  const std::string empty = write("empty", "");
  const std::string blank = write("blank", "\n \n");
  EXPECT_THAT(error_of(two, (folder_.path() / "none").string()), AllOf(HasSubstr("none"), HasSubstr("cannot open")));
  EXPECT_THAT(error_of(two, three), AllOf(HasSubstr("two has 2 lines"), HasSubstr("three has 3")));
  EXPECT_THAT(error_of(empty, empty), AllOf(HasSubstr("empty"), HasSubstr("no line has text on both sides")));
  EXPECT_THAT(error_of(blank, two), AllOf(HasSubstr("blank"), HasSubstr("no line has text on both sides")));
  EXPECT_THAT(error_of(two, "-"), AllOf(HasSubstr("standard input"), HasSubstr("write it to a file")));
}

TEST_F(StartingConfigurationTest, EveryConfigurationIsAcceptedWithItsValues) {
  for (double megabytes = 0.0001; megabytes < 2e5; megabytes *= 2) {
    for (const bool validated : {false, true}) {
      StartingFiles files{.source = "a.de.gz", .target = "a.en.gz"};
      if (validated) files.validation_source = "v.de", files.validation_target = "v.en";
      const StartingRecipe recipe = choose_recipe(corpus_of(megabytes));
      const std::string text = starting_configuration(files, corpus_of(megabytes), recipe);
      const core::Json tree = core::parse_yaml(text, "train.yml");
      const TrainingConfig config = read_training_config(tree, "train.yml");
      EXPECT_EQ(config.training.updates, recipe.updates);
      EXPECT_EQ(config.training.accumulate, recipe.accumulate);
      EXPECT_EQ(config.training.schedule.learning_rate, recipe.learning_rate);
      EXPECT_EQ(config.data.validation.empty(), !validated);
      EXPECT_EQ(config.validation.patience > 0, validated);
      EXPECT_EQ(tree["model"]["d_model"], recipe.d_model);
      EXPECT_EQ(tree["model"]["dropout"]["sub_layer"], recipe.dropout);
      // A model of this shape exists.
      resolved_configuration(config, make_environment(testing::host()));
      EXPECT_LE(std::ranges::count(text, '\n'), 70);
    }
  }
}

/// Names that are no plain scalars of YAML.
TEST_F(StartingConfigurationTest, NamesOfFilesStayAsTheyAre) {
  for (const std::string name : {"a: b.de", "# a", "- a", "true", "12", "null", "\xC3\xA4 {x}, [y].gz", "it's \"a\"",
                                 "a\nb: c", "a\tb", "*.de", "&a", " a "}) {
    const StartingFiles files{
        .source = name, .target = name + ".en", .validation_source = name, .validation_target = name + ".en"};
    const CorpusSize size = corpus_of(1);
    const std::string text = starting_configuration(files, size, choose_recipe(size));
    const core::Json tree = core::parse_yaml(text, "train.yml");
    EXPECT_EQ(tree["data"]["train"]["source"], name);
    EXPECT_EQ(tree["data"]["train"]["target"], name + ".en");
    EXPECT_EQ(tree["data"]["validation"]["source"], name);
    EXPECT_EQ(tree.size(), 6U) << text;
  }
}

}  // namespace
}  // namespace dragoman::training
