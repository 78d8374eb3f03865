#include "error_message.h"
#include "tokenizer_test_support.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/line_coding.h>
#include <dragoman/tokenizer/piece_lines.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Of several kinds: byte fallback, continuation marks, byte level, unigram with and without bytes.
TEST(PieceLines, ReadTheIdsOfTheTextThatEncodeLinesWrites) {
  const testing::TemporaryFolder folder;
  const std::string text =
      core::read_file(testing::golden_file("corpus.txt")) +
      "two  spaces\nna\u00EFve \u4F60\u597D \U0001F600 caf\u00E9s\n\nu\u3000v\u00A0w\n<s> </s> <unk>\n";
  core::write_file(folder / "text", text);
  for (const char* name : {"default.tokenizer.json", "subword_nmt.codes02", "byte_level_plain.tokenizer.json",
                           "learned_unigram_plain.model", "learned_unigram_bytes.model"}) {
    const auto tokenizer = load_tokenizer(testing::golden_file(name));
    core::OutputFile pieces(folder / "pieces", {.partial = core::PartialPolicy::kReplace});
    encode_lines(*tokenizer, folder / "text", pieces, {});
    pieces.commit();
    core::OutputFile decoded(folder / "decoded", {.partial = core::PartialPolicy::kReplace});
    decode_lines(*tokenizer, folder / "pieces", decoded, {});
    decoded.commit();
    const std::vector<std::string> texts = lines_of(text);
    const std::vector<std::string> coded = lines_of(core::read_file(folder / "pieces"));
    const std::vector<std::string> back = lines_of(core::read_file(folder / "decoded"));
    ASSERT_EQ(coded.size(), texts.size()) << name;
    const PieceLines lines(*tokenizer);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<std::int32_t> ids;
      for (const Piece& piece : lines.read(coded[i])) ids.push_back(piece.id >= 0 ? piece.id : lines.unknown());
      EXPECT_EQ(ids, tokenizer->encode(texts[i])) << name << ": " << coded[i];
      EXPECT_EQ(lines.decode(coded[i]), back[i]) << name << ": " << coded[i];
      const bool all_known = std::ranges::find(ids, lines.unknown()) == ids.end();
      if (all_known) {
        EXPECT_EQ(lines.write(ids), coded[i]) << name;
      }
    }
  }
}

TEST(PieceLines, KnowThePlacesOfWordsAndWhichAreNoPieces) {
  const auto tokenizer = load_tokenizer(testing::golden_file("default.tokenizer.json"));
  const PieceLines lines(*tokenizer);
  const std::int32_t the = *tokenizer->id("\u2581the");
  EXPECT_EQ(lines.unknown(), -1) << "its lines have bytes in place of text";
  EXPECT_THAT(lines.read("  \u2581the nonsensepiece </s>"),
              ElementsAre(Piece{the, 2, 8}, Piece{-1, 9, 22}, Piece{*tokenizer->id("</s>"), 23, 27}));
  EXPECT_TRUE(lines.read(" ").empty());
  EXPECT_EQ(lines.decode("\u2581the nonsensepiece </s>"), "thenonsensepiece");
}

}  // namespace
}  // namespace dragoman::tokenizer
