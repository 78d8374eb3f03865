#include "formats/youtokentome.h"

#include "formats_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class YouTokenToMe : public ::testing::Test {
 protected:
  const std::filesystem::path path_ = testing::golden_file("youtokentome.model");
  const core::Json rows_ = core::load_json(testing::golden_file("youtokentome.json").string());
  const BpeTokenizer tokenizer_{read_tokenizer_file(path_)};
};

TEST_F(YouTokenToMe, SameIdsAsTheProgram) {
  ASSERT_GE(rows_.size(), 200U);
  for (const core::Json& row : rows_)
    EXPECT_EQ(tokenizer_.encode(row["text"].get<std::string>()), row["ids"].get<std::vector<std::int32_t>>())
        << row["text"];
}

/// Special pieces decode to nothing here; the program was told to leave them out, too.
TEST_F(YouTokenToMe, SameDecodedTextAsTheProgram) {
  for (const core::Json& row : rows_)
    EXPECT_EQ(tokenizer_.decode(row["ids"].get<std::vector<std::int32_t>>()), row["decoded"].get<std::string>());
}

TEST_F(YouTokenToMe, PiecesKeepTheirPlacesInTheText) {
  for (const core::Json& row : rows_) {
    const auto text = row["text"].get<std::string>();
    std::size_t end = 0;
    for (const Piece& piece : tokenizer_.encode_pieces(text)) {
      EXPECT_LE(end, piece.begin);
      EXPECT_LE(piece.begin, piece.end);
      end = piece.end;
    }
    EXPECT_LE(end, text.size());
  }
}

TEST_F(YouTokenToMe, TokenizerJsonKeepsTheIds) {
  const BpeTokenizer again = BpeTokenizer::parse(tokenizer_.to_json(), "json");
  for (const core::Json& row : rows_)
    EXPECT_EQ(again.encode(row["text"].get<std::string>()), row["ids"].get<std::vector<std::int32_t>>()) << row["text"];
}

TEST_F(YouTokenToMe, IsRecognisedAndWrittenAgain) {
  const std::string content = core::read_file(path_);
  EXPECT_EQ(recognise(path_, content), FileKind::kYouTokenToMe);
  EXPECT_EQ(recognise(path_, content.substr(0, content.find('\n', 60) + 1)), FileKind::kYouTokenToMe);
  const testing::TemporaryFolder folder;
  write_tokenizer_file(tokenizer_.definition(), FileKind::kYouTokenToMe, folder / "out.model");
  EXPECT_EQ(read_tokenizer_file(folder / "out.model").merges, tokenizer_.definition().merges);
  const BpeTokenizer again(read_tokenizer_file(folder / "out.model"));
  EXPECT_EQ(again.to_json(), tokenizer_.to_json());
}

// A mark, a, b; the merges ab and, with the mark in front, all of it; the special ids.
constexpr const char* kSmall = "3 2\n9601 4\n97 5\n98 6\n5 6 7\n4 7 8\n1 0 2 3\n";

std::string error_of_text(const std::string& text) {
  return testing::error_of([&] { BpeTokenizer(read_youtokentome(text, "file")); });
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  return error_of_text(text.replace(text.find(from), from.size(), to));
}

TEST(YouTokenToMeReader, ReadsASmallModel) {
  const BpeTokenizer tokenizer(read_youtokentome(kSmall, "file"));
  EXPECT_THAT(testing::pieces_of(tokenizer, "ab  b ac"),
              ElementsAre("\xE2\x96\x81"
                          "ab",
                          "\xE2\x96\x81", "b", "\xE2\x96\x81", "a", "<UNK>"));
  EXPECT_EQ(tokenizer.id("<PAD>"), 0);
  EXPECT_EQ(tokenizer.id("<EOS>"), 3);
  EXPECT_EQ(error_of_text("2 0\n9601 1\n97 2\n0 -1 -1 -1\n"), "no error");
  EXPECT_EQ(changed("97 5", "0 5"), "no error");  // the character NUL
}

TEST(YouTokenToMeReader, RefusesDamage) {
  EXPECT_THAT(error_of_text(""), HasSubstr("file: line 1: expected the number of characters"));
  EXPECT_THAT(changed("3 2", "3 3"), HasSubstr("need 8 lines, but the file has 7"));
  EXPECT_THAT(changed("3 2", "3 99999999999999"), HasSubstr("cannot be"));
  EXPECT_THAT(changed("97 5", "97 x"), HasSubstr("file: line 3: expected a code point and its id"));
  EXPECT_THAT(changed("97 5", "55296 5"), HasSubstr("line 3: 55296 is not the code point"));
  EXPECT_THAT(changed("97 5", "97 9"), HasSubstr("line 3: the id 9 is not one of the 9 pieces"));
  EXPECT_THAT(changed("98 6", "98 5"), HasSubstr("line 4: the id 5 is that of 'a' already"));
  EXPECT_THAT(changed("98 6", "97 6"), HasSubstr("line 4: 'a' has the id 5 already"));
  EXPECT_THAT(changed("5 6 7", "5 8 7"), HasSubstr("line 5: no line above makes the piece 8"));
  EXPECT_THAT(changed("5 6 7", "5 1 7"), HasSubstr("the special piece 1 cannot merge"));
  EXPECT_THAT(changed("4 7 8", "5 6 8"), HasSubstr("line 6: 'ab' has the id 7 already"));
  EXPECT_THAT(changed("1 0 2 3", "-1 0 2 3"), HasSubstr("line 7: a model without <UNK>"));
  EXPECT_THAT(changed("1 0 2 3", "1 2 3"), HasSubstr("line 7: expected the ids of <UNK>"));
  EXPECT_THAT(changed("9601 4", "99 4"), HasSubstr("U+2581"));
  EXPECT_THAT(error_of_text("2 0\n9601 0\n97 1\n2 -1 -1 -1\n"), HasSubstr("the id 0"));
}

std::string error_of_definition(BpeDefinition definition) {
  return testing::error_of([&] { write_youtokentome(definition); });
}

TEST(YouTokenToMeWriter, WritesTheFileThatWasRead) {
  EXPECT_EQ(write_youtokentome(read_youtokentome(kSmall, "file")), kSmall);
  EXPECT_EQ(write_youtokentome(read_youtokentome("2 0\n9601 1\n97 2\n0 -1 -1 -1\n", "file")),
            "2 0\n9601 1\n97 2\n0 -1 -1 -1\n");
}

TEST(YouTokenToMeWriter, RefusesOtherTokenizersWithTheReason) {
  const BpeDefinition small = read_youtokentome(kSmall, "file");
  BpeDefinition changed = small;
  changed.fuse_unknown = false;
  EXPECT_THAT(error_of_definition(changed), HasSubstr("a run of unknown characters"));
  changed = small;
  changed.added_tokens.pop_back();
  EXPECT_THAT(error_of_definition(changed), HasSubstr("the piece '<EOS>' is neither a character nor an earlier merge"));
  changed = small;
  changed.pieces[3] = "<ph>";
  EXPECT_THAT(error_of_definition(changed), HasSubstr("it has the special piece '<ph>'"));
  changed = small;
  changed.merges.push_back({5, 4, 8});
  EXPECT_THAT(error_of_definition(changed), HasSubstr("two merges make the piece"));
  changed = small;
  std::swap(changed.merges[0], changed.merges[1]);
  EXPECT_THAT(error_of_definition(changed), HasSubstr("the piece 'ab' is neither a character nor an earlier merge"));
  EXPECT_THAT(error_of_definition(read_tokenizer_file(testing::golden_file("default.tokenizer.json"))),
              HasSubstr("as bytes"));
  EXPECT_THAT(error_of_definition(read_tokenizer_file(testing::golden_file("subword_nmt.codes02"))),
              HasSubstr("another way"));
}

TEST(YouTokenToMeWriter, WritesWhatIsLearnedForIt) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "text", "low\tlower  low\xE2\x96\x81low\nlow lower\n");
  LearnOptions options;
  options.vocab_size = 18;
  options.min_frequency = 1;
  options.byte_fallback = false;
  options.special_tokens = {"<PAD>", "<UNK>", "<BOS>", "<EOS>"};
  options.written_as = FileKind::kYouTokenToMe;
  const BpeTokenizer learned = learn_bpe({folder / "text"}, options);
  const BpeTokenizer again(read_youtokentome(write_youtokentome(learned.definition()), "file"));
  EXPECT_EQ(again.definition().pieces, learned.definition().pieces);
  EXPECT_EQ(again.definition().merges, learned.definition().merges);
  EXPECT_EQ(again.definition().text, learned.definition().text);
  EXPECT_THAT(testing::pieces_of(again, " low\t lower"), ElementsAre("\xE2\x96\x81low", "\xE2\x96\x81lower"));
  options.byte_fallback = true;
  EXPECT_THAT(testing::error_of([&] { learn_bpe({folder / "text"}, options); }), HasSubstr("as bytes"));
}

}  // namespace
}  // namespace dragoman::tokenizer
