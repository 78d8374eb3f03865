#include "dragoman/formats/languages.h"

#include "error_message.h"

#include <gmock/gmock.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>

namespace dragoman::formats {
namespace {

using core::Json;
using dragoman::testing::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const nn::SequenceSpec kSequences{.source_vocabulary = 20, .target_vocabulary = 10};

const Json kTable = {
    {"always", {{"source_prefix", {3}}, {"target_prefix", {4}}}},
    {"source", "eng_Latn"},
    {"table",
     {{"eng_Latn", {{"source_prefix", {15}}, {"target_prefix", {5}}}},
      {"deu_Latn", {{"source_suffix", {16}}, {"source_prefix_as_target", {17}}, {"target_prefix", {6}}}}}}};

LanguageTable table_of(const Json& json) {
  return read_language_table(json, kSequences, "config.json: languages");
}

std::string message_with(const char* pointer, const Json& value) {
  Json json = kTable;
  json[Json::json_pointer(pointer)] = value;
  return dragoman::testing::message_of([&] { table_of(json); });
}

std::string refusal(const LanguageTable& table, std::string_view source, std::string_view target) {
  return dragoman::testing::message_of([&] { table.tags(source, target); }, core::ErrorCode::kInvalidArgument);
}

TEST(LanguageTable, PutsTagsInTheirOrder) {
  const SequenceTags there = table_of(kTable).tags("", "deu_Latn");
  EXPECT_THAT(there.source_prefix, ElementsAre(3, 17, 15));
  EXPECT_THAT(there.source_suffix, ElementsAre());
  EXPECT_THAT(there.target_prefix, ElementsAre(4, 6));
  const SequenceTags back = table_of(kTable).tags("deu_Latn", "eng_Latn");
  EXPECT_THAT(back.source_prefix, ElementsAre(3));
  EXPECT_THAT(back.source_suffix, ElementsAre(16));
  EXPECT_THAT(back.target_prefix, ElementsAre(4, 5));
  EXPECT_EQ(back.of_source(), 2U);
  EXPECT_EQ(table_of(kTable).tokens_of_target(), 2);
}

TEST(LanguageTable, StoresThatSourcesHaveNoEnd) {
  EXPECT_TRUE(table_of(kTable).always.source_end);
  EXPECT_FALSE(to_json(table_of(kTable))["always"].contains("source_end"));
  const LanguageTable without = table_of({{"always", {{"source_end", false}}}});
  EXPECT_FALSE(without.always.source_end);
  EXPECT_FALSE(without.empty());
  EXPECT_EQ(table_of(to_json(without)), without);
  EXPECT_FALSE(without.tags("", "").source_end);
}

TEST(LanguageTable, SaysWhichLanguagesThereAre) {
  const LanguageTable table = table_of(kTable);
  EXPECT_THAT(refusal(table, "", ""), HasSubstr("must be told the one of the target: target_language, a code"));
  EXPECT_THAT(refusal(table, "", "deu"), HasSubstr("no language 'deu'; it has deu_Latn"));
  EXPECT_THAT(refusal(table, "eng_Lath", "deu_Latn"),
              HasSubstr("source_language: the model has no language 'eng_Lath'; it has eng_Latn"));
  EXPECT_THAT(refusal(LanguageTable(), "de", ""), HasSubstr("no table of languages"));
  EXPECT_TRUE(LanguageTable().tags("", "").empty());
}

TEST(LanguageTable, IsWrittenAsItWasRead) {
  EXPECT_EQ(to_json(table_of(kTable)), kTable);
  EXPECT_EQ(table_of(to_json(table_of(kTable))), table_of(kTable));
}

TEST(LanguageTable, RefusesWhatIsNoTag) {
  EXPECT_THAT(message_with("/always/source_prefix", {20}), HasSubstr("always: source_prefix: must hold ids"));
  EXPECT_THAT(message_with("/table/eng_Latn/target_prefix", {10}), HasSubstr("must hold ids of the vocabulary"));
  EXPECT_THAT(message_with("/table/eng_Latn/target_prefix", {kSequences.end}), HasSubstr("not the end"));
  EXPECT_THAT(message_with("/table/eng_Latn/target_prefix", Json(std::vector<int>(65, 3))), HasSubstr("at most 64"));
  EXPECT_THAT(message_with("/table/eng_Latn/target", {3}), HasSubstr("target"));
  EXPECT_THAT(message_with("/target", "fra_Latn"), HasSubstr("is no language of the table"));
}

TEST(LanguageTable, MakesAModelFolderOfVersion3) {
  Json json = {{"format_version", 3},
               {"model_type", "transformer"},
               {"sequences", nn::to_json(kSequences)},
               {"languages", kTable}};
  const ModelConfig config = read_model_config(json, "config.json");
  EXPECT_EQ(config.languages, table_of(kTable));
  EXPECT_EQ(to_json(config)["format_version"], 3);
  json["format_version"] = 2;
  EXPECT_THAT(dragoman::testing::message_of([&] { read_model_config(json, "config.json"); }), HasSubstr("languages"));
  ModelConfig none = config;
  none.languages = {};
  EXPECT_EQ(to_json(none)["format_version"], 1);
}

}  // namespace
}  // namespace dragoman::formats
