#include "program.h"
#include "test_data.h"

#include <gmock/gmock.h>

#include <dragoman/core/file.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

/// A small NLLB of tests/formats/golden, opened as it is.
class Languages : public ::testing::Test {
 protected:
  Languages() {
    core::write_file(folder_ / "text", kText);
    core::write_file(folder_ / "target",
                     "Die alte Br\xC3\xBC"
                     "cke ist gesperrt.\n");
  }

  static std::string model() { return (source_folder() / "tests/formats/golden/huggingface/nllb").string(); }
  Outcome translate(const std::string& arguments) const {
    return run_dragoman(folder_.path(), "translate --model '" + model() + "' " + arguments);
  }
  std::string translation(const std::string& arguments) const {
    const Outcome outcome = translate(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    return outcome.output;
  }

  static constexpr const char* kText = "The old bridge over the river is closed.\n";
  TemporaryFolder folder_;
};

TEST_F(Languages, AreSaidByTheCommandLineOrByEachLine) {
  const std::string german = translation("text");
  const std::string french = translation("text --source-language deu_Latn --target-language fra_Latn");
  EXPECT_NE(german, french);
  EXPECT_EQ(translation("text --source-language eng_Latn --target-language deu_Latn"), german);
  const std::string line = std::string(kText, std::char_traits<char>::length(kText) - 1);
  core::write_file(folder_ / "lines.jsonl",
                   "{\"source\": \"" + line + "\"}\n{\"source\": \"" + line +
                       "\", \"source_language\": \"deu_Latn\", \"target_language\": \"fra_Latn\"}\n");
  EXPECT_EQ(translation("lines.jsonl --input-format jsonl"), german + french);
  EXPECT_EQ(translation("lines.jsonl --input-format jsonl --ignore-line-options"), german + german);
  core::write_file(folder_ / "lines.tsv", line + "\t\t\n" + line + "\tdeu_Latn\tfra_Latn\n");
  EXPECT_EQ(translation("lines.tsv --input-format tsv --source-language-column 2 --target-language-column 3"),
            german + french);
}

/// The text ends in a colon and a blank, which YAML would take for a key without a value.
TEST_F(Languages, APrefixOfTheSourceIsTextAsItStands) {
  const std::string t5 = "'" + (source_folder() / "tests/formats/golden/huggingface/t5").string() + "'";
  const std::string prefix = "translate English to German: ";
  const Outcome converted = run_dragoman(
      folder_.path(), "convert " + t5 + " --import-options 'source_prefix=" + prefix + "' --output prefixed");
  ASSERT_EQ(converted.status, 0) << converted.error;
  core::write_file(folder_ / "prefixed.text", prefix + kText);
  const Outcome with = run_dragoman(folder_.path(), "translate --model prefixed text");
  EXPECT_EQ(with.status, 0) << with.error;
  EXPECT_EQ(with.output, run_dragoman(folder_.path(), "translate --model " + t5 + " prefixed.text").output);
  EXPECT_NE(with.output, run_dragoman(folder_.path(), "translate --model " + t5 + " text").output);
}

TEST_F(Languages, UnknownOnesAreNamedWithThoseNear) {
  const Outcome outcome = translate("text --target-language deu");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.error, HasSubstr("the model has no language 'deu'; it has deu_Latn"));
  EXPECT_THAT(translate("text --target-language-column 3").error, HasSubstr("tsv"));
  core::write_file(folder_ / "lines.jsonl", "{\"source\": \"x\", \"target_language\": \"xx\"}\n");
  EXPECT_THAT(translate("lines.jsonl --input-format jsonl --format jsonl").output, HasSubstr("no language 'xx'"));
}

TEST_F(Languages, ChangeScoresAndAreInspected) {
  const auto score = [&](const std::string& arguments) {
    const Outcome outcome = run_dragoman(folder_.path(), "score --model '" + model() + "' text target " + arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    return outcome.output;
  };
  EXPECT_EQ(score(""), score("--source-language eng_Latn --target-language deu_Latn"));
  EXPECT_NE(score(""), score("--target-language fra_Latn"));
  const Outcome made = run_dragoman(folder_.path(), "convert '" + model() + "' --output made");
  ASSERT_EQ(made.status, 0) << made.error;
  EXPECT_EQ(run_dragoman(folder_.path(), "translate --model made text").output, translation("text"));
  for (const std::string& folder : {std::string("made"), "'" + model() + "'"})
    EXPECT_THAT(run_dragoman(folder_.path(), "inspect " + folder).output,
                HasSubstr("202; source: eng_Latn; target: deu_Latn: ace_Arab ace_Latn"));
}

}  // namespace
}  // namespace dragoman::testing
