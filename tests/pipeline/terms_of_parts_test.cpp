// Terms of lines that are translated in several parts are looked for in the text as it was written.
#include "pipeline/glossary.h"
#include "tiny_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::pipeline {
namespace {

using dragoman::testing::TinyModel;
using ::testing::HasSubstr;
using ::testing::Not;

class TermsOfParts : public ::testing::Test {
 protected:
  /// The translations of the parts of a text. Each must hold the targets of the terms that are in it.
  std::vector<std::string> parts(const std::string& text, std::vector<TextRange> sentences,
                                 std::vector<GlossaryEntry> entries) {
    TranslateOptions options;
    options.search.beam_size = 6;
    options.search.maximum_length = 12;
    options.details = true;
    options.glossary = std::make_shared<const Glossary>(std::move(entries));
    Translator translator(Model(model_.path(), host_, {.threads = 1}), options);
    Record record;
    record.text = text;
    record.sentences = std::move(sentences);
    const Record result = translator.translate(std::vector<Record>{record}).front();
    EXPECT_FALSE(result.failed()) << result.message;
    std::vector<std::string> found;
    for (const core::Json& segment : result.fields["segments"]) {
      found.push_back(segment["translation"]);
      EXPECT_FALSE(segment.contains("unmet_constraints")) << segment.dump();
    }
    return found;
  }

  plugins::Host host_;
  const TinyModel model_{{}, [](tokenizer::LearnOptions& options) { options.lowercase = true; }};
};

TEST_F(TermsOfParts, AreFoundInTheirOwnCaseInSentences) {
  const std::string text = "Der Hund. Ein HUND. Die Katze.";
  const auto found = parts(text, {{0, 9}, {10, 19}, {20, text.size()}}, {{"HUND", {"dog"}, true}, {"katze", {"cat"}}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_THAT(found[0], Not(HasSubstr("dog")));
  EXPECT_THAT(found[1], HasSubstr("dog"));
  EXPECT_THAT(found[2], HasSubstr("cat"));
}

TEST_F(TermsOfParts, AreFoundInLongLines) {
  std::string text;
  for (int i = 0; i < 12; ++i) text += i == 9 ? "ein HUND " : "ein hund ";
  const auto found = parts(text, {}, {{"HUND", {"dog"}, true}});
  ASSERT_GT(found.size(), 1U);
  std::size_t with_term = 0;
  for (const std::string& part : found) with_term += part.find("dog") != std::string::npos ? 1 : 0;
  EXPECT_EQ(with_term, 1U);
}

/// Of characters that the tokenizer writes in another way.
TEST_F(TermsOfParts, AreFoundAsTheyAreWritten) {
  const std::string text = "Die \u00C9T\u00C9. Das Log.";
  const auto found = parts(text, {{0, 11}, {12, text.size()}}, {{"\u00C9T\u00C9", {"mat"}, true}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0], HasSubstr("mat"));
}

}  // namespace
}  // namespace dragoman::pipeline
