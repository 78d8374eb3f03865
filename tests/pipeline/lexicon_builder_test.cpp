#include "dragoman/pipeline/lexicon_builder.h"

#include "dragoman/pipeline/translator.h"
#include "error_message.h"
#include "tiny_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/options.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::pipeline {
namespace {

using ::testing::HasSubstr;

class LexiconBuilderTest : public ::testing::Test {
 protected:
  /// Its pieces: <unk> <s> </s> ▁ t h e a th the.
  LexiconBuilderTest() {
    const tokenizer::TokenizerExample example = tokenizer::example_of(tokenizer::FileKind::kTokenizerJson);
    core::OptionReader options(example.options.get(), "options");
    tokenizer_ = tokenizer::make_tokenizer(tokenizer::FileKind::kTokenizerJson, {"example", example.content}, options);
  }
  std::string written(const LexiconBuilder& builder, std::int32_t best) const {
    core::OutputFile out(folder_ / "lex");
    builder.write(out, best);
    out.commit();
    return testing::read_text(folder_ / "lex");
  }
  /// A link of the last pieces.
  std::string last_of(std::string_view source, std::string_view target) const {
    return std::to_string(tokenizer_->encode(source).size() - 1) + "-" +
           std::to_string(tokenizer_->encode(target).size() - 1);
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

/// Counted by hand: t leads to h twice and to a once, e to a.
TEST_F(LexiconBuilderTest, CountsWhereTheLinksOfEachPieceLead) {
  LexiconBuilder builder(*tokenizer_, *tokenizer_, AlignmentUnit::kPieces);
  builder.add("t", "a", last_of("t", "a"));
  builder.add("t", "h", last_of("t", "h"));
  builder.add("", "", "");
  builder.add("e", "a", last_of("e", "a"));
  builder.add("t", "h", last_of("t", "h"));
  const std::string lexicon = "h t 0.6666667\na t 0.3333333\na e 1\n";
  const std::string all = written(builder, 0);
  EXPECT_TRUE(all.ends_with("\n" + lexicon)) << all;
  const std::string frequent = all.substr(0, all.size() - lexicon.size());
  // Two of the targets are h, two are a; the rest are marks in front of words, if the tokenizer makes any.
  const std::string share = tokenizer_->encode("a").size() == 1 ? "0.5" : "0.25";
  EXPECT_THAT(frequent, HasSubstr("a NULL " + share + "\nh NULL " + share + "\n"));
  EXPECT_TRUE(written(builder, 1).ends_with("\nh t 0.6666667\na e 1\n"));
}

/// Without the detour by the file, for all sources of one piece and limits that cut something off.
TEST_F(LexiconBuilderTest, MakesTheShortlistThatItsFileMakes) {
  LexiconBuilder builder(*tokenizer_, *tokenizer_, AlignmentUnit::kPieces);
  for (const char* pair : {"ta", "th", "th", "ea", "eh", "et", "ht", "hh", "ha", "ha", "he"})
    builder.add(std::string(1, pair[0]), std::string(1, pair[1]), last_of({pair, 1}, {pair + 1, 1}));
  const auto id = [&](std::string_view piece) { return tokenizer_->id(piece); };
  const decoding::ShortlistVocabularies vocabularies{.source_size = tokenizer_->size(),
                                                     .target_size = tokenizer_->size(),
                                                     .end = 2,
                                                     .unknown = 0,
                                                     .source_id = id,
                                                     .target_id = id};
  for (const decoding::ShortlistLimits limits :
       {decoding::ShortlistLimits{.first = 2, .best = 2}, decoding::ShortlistLimits{.first = 0, .best = 1},
        decoding::ShortlistLimits{.first = 100, .best = 100}}) {
    // Cut when it is written or when it is read: of candidates as probable as each other both keep the same.
    written(builder, limits.best);
    const auto from_file = decoding::Shortlist::read(folder_ / "lex", vocabularies, limits);
    const auto direct = builder.shortlist(vocabularies, limits);
    for (std::int32_t source = 0; source < tokenizer_->size(); ++source) {
      std::vector<std::int32_t> expected, found;
      from_file.candidates({&source, 1}, expected);
      direct.candidates({&source, 1}, found);
      EXPECT_EQ(found, expected) << source << ", best " << limits.best;
    }
  }
}

/// `ha` is two pieces, and so is `et`; where the pieces of a word begin, the tokenizer says.
TEST_F(LexiconBuilderTest, ALinkOfWordsIsOneOfAllTheirPieces) {
  LexiconBuilder words(*tokenizer_, *tokenizer_, AlignmentUnit::kWords);
  LexiconBuilder pieces(*tokenizer_, *tokenizer_, AlignmentUnit::kPieces);
  words.add("ha", "et", "0-0");
  std::string links;
  const std::size_t sources = tokenizer_->encode("ha").size();
  const std::size_t targets = tokenizer_->encode("et").size();
  ASSERT_GE(sources, 2U);
  ASSERT_GE(targets, 2U);
  for (std::size_t i = 0; i < sources; ++i)
    for (std::size_t j = 0; j < targets; ++j) links += std::to_string(i) + "-" + std::to_string(j) + " ";
  pieces.add("ha", "et", links);
  EXPECT_EQ(written(words, 0), written(pieces, 0));
}

TEST_F(LexiconBuilderTest, LinksBeyondTheWordsAreRefused) {
  LexiconBuilder builder(*tokenizer_, *tokenizer_, AlignmentUnit::kWords);
  EXPECT_THAT(testing::message_of([&] { builder.add("he a", "t", "1-1"); }),
              HasSubstr("1-1 is outside of 2 source and 1 target units"));
}

class ShortlistTranslationTest : public ::testing::Test {
 protected:
  std::vector<std::string> translate(const TranslateOptions& options) {
    const std::vector<std::string> lines = {"the cat", "ein Hund und eine Katze", "", "the dog sat on the log"};
    return Translator(Model(model_.path(), host_, {.threads = 1}), options).translate(lines);
  }
  testing::TinyModel model_;
  plugins::Host host_;
};

TEST_F(ShortlistTranslationTest, AListOfEverythingChangesNothingAndAShortOneDoes) {
  const auto plain = translate({});
  core::write_file(model_.file("all.s2t"), "t a 0.5\n");
  EXPECT_EQ(translate({.shortlist = {.path = model_.file("all.s2t"), .limits = {.first = 1000}}}), plain);
  // The tokenizer is shared: what is left are the source's own pieces, t and the end.
  const auto copied = translate({.shortlist = {.path = model_.file("all.s2t"), .limits = {.first = 0}}});
  EXPECT_NE(copied, plain);
  EXPECT_EQ(copied[0].find_first_not_of("the cat"), std::string::npos) << copied[0];
}

TEST_F(ShortlistTranslationTest, TheModelsOwnIsUsedUnlessTheUserSaysNone) {
  const auto plain = translate({});
  core::write_file(model_.file("few.s2t"), "t a 0.5\n");
  const auto listed = translate({.shortlist = {.path = model_.file("few.s2t"), .limits = {.first = 0}}});
  ASSERT_NE(listed, plain);
  const plugins::LoadedModel loaded = plugins::load_model(model_.path(), host_);
  const auto shortlist = decoding::Shortlist::read(
      model_.file("few.s2t"),
      shortlist_vocabularies(loaded.model->spec(), *loaded.source_tokenizer, *loaded.target_tokenizer), {.first = 0});
  formats::write_shortlist(model_.path(), model_.path(), shortlist.to_binary());
  EXPECT_EQ(translate({}), listed);
  TranslateOptions none;
  none.shortlist.path = ShortlistSettings::kNone;
  EXPECT_EQ(translate(none), plain);
}

TEST_F(ShortlistTranslationTest, AFileOfAnotherModelIsRefused) {
  core::write_file(model_.file("other.s2t"), "other words 0.5\n");
  EXPECT_THAT(testing::message_of([&] { translate({.shortlist = {.path = model_.file("other.s2t")}}); }),
              HasSubstr("other.s2t: none of its 1 lines is of pieces that the model has"));
}

}  // namespace
}  // namespace dragoman::pipeline
