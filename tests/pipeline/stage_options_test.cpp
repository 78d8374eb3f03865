#include "dragoman/pipeline/stage_options.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/pipeline_api/stage.h>

namespace dragoman::pipeline {
namespace {

using core::Json;

TEST(BuiltInStages, AreThoseWhoseNamesAreReserved) {
  std::vector<std::string_view> names;
  for (const BuiltInStage& stage : built_in_stages()) names.push_back(stage.name);
  EXPECT_THAT(names, ::testing::ElementsAreArray(kBuiltInStageNames));
  EXPECT_EQ(find_built_in_stage("translat"), nullptr);
}

TEST(BuiltInStages, SayOfEachOptionWhatPeopleMustKnow) {
  for (const BuiltInStage& stage : built_in_stages()) {
    std::set<std::string> names;
    for (const core::Option& option : *stage.options) {
      SCOPED_TRACE(std::string(stage.name) + ": " + option.name);
      EXPECT_TRUE(names.insert(option.name).second) << "stands there twice";
      EXPECT_FALSE(option.help.empty());
      EXPECT_EQ(option.placeholder.empty(), option.fallback.get().is_boolean()) << "only a switch takes no value";
      EXPECT_EQ(option.placeholder.empty(), option.parse == nullptr);
      const bool has_choices = !option.choices.empty();
      EXPECT_TRUE(!has_choices || std::ranges::count(option.choices, option.fallback.get().get<std::string>()) == 1);
    }
    for (const auto& special : {stage.input_file_options, stage.non_semantic_options})
      for (const std::string_view name : special) EXPECT_EQ(names.count(std::string(name)), 1U) << name;
  }
}

/// What a command line shows as a default means that default when it is typed.
TEST(BuiltInStages, TakeTheirOwnDefaultsAsWords) {
  for (const BuiltInStage& stage : built_in_stages())
    for (const core::Option& option : *stage.options) {
      if (!option.parse || option.fallback.get().is_null()) continue;
      const std::string word = option.fallback.get().is_string() ? option.fallback.get().get<std::string>()
                                                                 : core::one_line(option.fallback.get());
      EXPECT_EQ(option.parse(word), option.fallback.get()) << stage.name << ": " << option.name;
      if (!option.choices.empty()) {
        EXPECT_THROW(option.parse("no such choice"), core::Error);
      }
    }
}

TEST(Record, WeighsWhatItsFieldsHold) {
  Record record;
  record.text = std::string(1000, 'x');
  const std::size_t plain = record.weight();
  EXPECT_GT(plain, 1000U);
  record.fields["columns"] = Json::array({std::string(5000, 'y'), "z"});
  EXPECT_GT(record.weight(), plain + 5000);
  const std::size_t with_columns = record.weight();
  for (int i = 0; i < 100; ++i) record.fields["scores"].push_back(0.5);
  EXPECT_GT(record.weight(), with_columns + 100 * sizeof(Json));
}

}  // namespace
}  // namespace dragoman::pipeline
