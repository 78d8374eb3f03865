// Lines of pieces in place of text.
#include "error_message.h"
#include "pipeline/glossary.h"
#include "tiny_model.h"

#include <mutex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::pipeline {
namespace {

using dragoman::testing::TinyModel;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PiecesTest : public ::testing::Test {
 protected:
  /// Some longer than the 24 tokens that the model takes, some with characters that its tokenizer lacks.
  static std::vector<std::string> texts() {
    std::vector<std::string> texts = {"the cat sat",
                                      "",
                                      " ",
                                      "ein Hund und eine Katze",
                                      "  the  dog ",
                                      "\u4F60\u597D the \U0001F600z",
                                      "\u4F60\u597D",
                                      "<s> the </s>"};
    std::string text = "the";
    for (const char* word : {" cat", " sat on", "  mat", " zzzz", " Katze und", " \u4F60", " dog"}) {
      text += word + text;
      texts.push_back(text.substr(0, 300));
    }
    return texts;
  }
  std::string pieces_of(const std::string& text) const {
    std::string line;
    for (const std::int32_t id : tokenizer_->encode(text))
      line.append(line.empty() ? "" : " ").append(tokenizer_->piece(id));
    return line;
  }
  std::string text_of(const std::string& pieces) const {
    std::vector<std::int32_t> ids;
    std::istringstream in(pieces);
    for (std::string piece; in >> piece;) ids.push_back(tokenizer_->id(piece).value());
    return tokenizer_->decode(ids);
  }
  static std::string without_spaces(std::string text, bool really) {
    if (really) std::erase(text, ' ');
    return text;
  }
  std::string translate(const std::string& line, const RecordOptions& options = {}) {
    return Translator(model_, {}).translate(line, options);
  }

  plugins::Host host_;
  const TinyModel folder_{{}, [](tokenizer::LearnOptions& options) { options.byte_fallback = false; }};
  const Model model_{folder_.path(), host_, {.threads = 1}};
  const std::shared_ptr<const tokenizer::Tokenizer> tokenizer_ = model_.source_tokenizer();
  static RecordOptions both() { return {.input_pieces = true, .output_pieces = true}; }
};

TEST_F(PiecesTest, TranslateAsTheirText) {
  for (const char* decoder : {"beam", "greedy", "sampling", "mbr"}) {
    TranslateOptions options;
    options.search.decoder = decoder;
    if (options.search.decoder == "mbr") options.search.mbr_samples = 4;
    Translator of_text(model_, options);
    options.input_pieces = options.output_pieces = true;
    Translator of_pieces(model_, options);
    std::vector<std::string> coded;
    for (const std::string& text : texts()) coded.push_back(pieces_of(text));
    const std::vector<std::string> found = of_pieces.translate(coded);
    const std::vector<std::string> expected = of_text.translate(texts());
    for (std::size_t i = 0; i < found.size(); ++i) {
      // Parts of a text are joined by a space, with which pieces need not begin.
      const bool in_parts = tokenizer_->encode(texts()[i]).size() > 23;
      EXPECT_EQ(without_spaces(text_of(found[i]), in_parts), without_spaces(expected[i], in_parts))
          << decoder << ": " << coded[i];
    }
  }
}

TEST_F(PiecesTest, EachSideHasItsOwnOption) {
  const std::string text = "the cat sat on the mat";
  const std::string expected = translate(text);
  EXPECT_EQ(translate(pieces_of(text), {.input_pieces = true}), expected);
  const std::string pieces = translate(text, {.output_pieces = true});
  EXPECT_NE(pieces, expected);
  EXPECT_EQ(text_of(pieces), expected);
  EXPECT_EQ(translate(pieces_of(text), both()), pieces);
}

TEST_F(PiecesTest, AWordThatIsNoPieceIsTheUnknownTokenAndTheEndIsNotDoubled) {
  const std::string expected = translate("\u2581the <unk> \u2581cat", both());
  EXPECT_NE(expected, translate("\u2581the \u2581cat", both()));
  EXPECT_EQ(translate("\u2581the nonsensepiece \u2581cat", both()), expected);
  EXPECT_EQ(translate(" \u2581the  <unk> \u2581cat </s> ", both()), expected);
  EXPECT_NE(translate("\u2581the <unk> </s> \u2581cat", both()), expected) << "a special token is itself";
  EXPECT_EQ(translate("</s>", both()), "");
}

TEST_F(PiecesTest, AlternativesAreTheirTokens) {
  TranslateOptions options{.details = true, .input_pieces = true, .output_pieces = true};
  options.search.n_best = 3;
  Record record;
  record.text = pieces_of("the cat sat");
  const std::string source = record.text;
  const Record result = Translator(model_, options).translate(std::vector<Record>{record}).front();
  EXPECT_EQ(result.fields["source"], source);
  EXPECT_EQ(result.fields["n_best"][0]["translation"], result.text);
  ASSERT_EQ(result.fields["n_best"].size(), 3U);
  for (const core::Json& alternative : result.fields["n_best"]) {
    std::string joined;
    for (const std::string token : alternative["tokens"]) joined.append(joined.empty() ? "" : " ").append(token);
    EXPECT_EQ(alternative["translation"], joined);
  }
}

TEST_F(PiecesTest, PartsAreJoinedByASpaceAndMayHaveNoTextBetweenThem) {
  Record record;
  record.text = "the cat.  the dog. ";
  record.sentences = {{0, 8}, {10, 18}};
  Translator translator(model_, {.output_pieces = true});
  EXPECT_EQ(translator.translate(std::vector<Record>{record}).front().text,
            translator.translate("the cat.") + " " + translator.translate("the dog."));
  record.text[9] = ';';
  const Record failed = translator.translate(std::vector<Record>{record}).front();
  EXPECT_TRUE(failed.failed());
  EXPECT_THAT(failed.message, HasSubstr("' ;', cannot be part of a line of pieces"));
}

TEST_F(PiecesTest, WhatIsToldOfALineOnTheWayIsItsBeginning) {
  for (const char* decoder : {"greedy", "beam"}) {
    std::size_t told = 0;
    for (const std::string& text : texts()) {
      RecordOptions options = both();
      options.search.decoder = decoder;
      const std::string expected = translate(pieces_of(text), options);
      std::mutex mutex;
      std::string joined;
      options.on_partial = [&](const PartialRecord& partial) {
        const std::lock_guard lock(mutex);
        joined += partial.more;
        EXPECT_EQ(joined, partial.text);
        EXPECT_THAT(expected, StartsWith(joined));
        EXPECT_EQ(partial.tail().find("  "), std::string::npos);
        ++told;
      };
      EXPECT_EQ(translate(pieces_of(text), options), expected) << decoder;
      EXPECT_EQ(joined, expected) << decoder;
    }
    EXPECT_GT(told, 20U) << decoder;
  }
}

TEST_F(PiecesTest, TermsAreFoundInTheirText) {
  TranslateOptions options{.input_pieces = true};
  options.search.beam_size = 6;
  options.glossary = std::make_shared<const Glossary>(std::vector<GlossaryEntry>{{"Hund", {"dog"}, true}});
  Translator translator(model_, options);
  EXPECT_THAT(translator.translate(pieces_of("ein Hund und eine Katze")), HasSubstr("dog"));
  EXPECT_THAT(translator.translate(pieces_of("eine Katze")), ::testing::Not(HasSubstr("dog")));
}

TEST_F(PiecesTest, UnknownTokensAreReplacedInTextOnly) {
  for (const char* key : {"input_pieces", "output_pieces"}) {
    TranslateOptions options;
    options.search.replace_unknown = true;
    (key[0] == 'i' ? options.input_pieces : options.output_pieces) = true;
    EXPECT_THAT(dragoman::testing::message_of([&] { Translator(model_, options); }, core::ErrorCode::kInvalidArgument),
                AllOf(StartsWith("replace_unknown: "), HasSubstr(std::string("leave it or `") + key + "` out")));
  }
  Record record;
  record.text = "\u2581the";
  record.fields["decoding"] = {{"replace_unknown", true}};
  const Record failed = Translator(model_, {.input_pieces = true}).translate(std::vector<Record>{record}).front();
  EXPECT_THAT(failed.message, HasSubstr("replace_unknown: "));
}

}  // namespace
}  // namespace dragoman::pipeline
