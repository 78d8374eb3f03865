#include "base/base64.h"
#include "formats/byte_level.h"
#include "formats_test_support.h"
#include "sentencepiece/protobuf_wire.h"
#include "sentencepiece/sentencepiece_files.h"
#include "test_names.h"

#include <sys/stat.h>

#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/byte_pieces.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A file, how it is read, and where golden/make_formats_golden.py wrote what the package that the file belongs to
/// makes of it.
struct Golden {
  std::string file;
  std::string results;
  std::string section;
  ReadOptions options = {};
};

std::string test_name(const Golden& golden) {
  return golden.file + " " + golden.section;
}

class FormatTest : public ::testing::TestWithParam<Golden> {
 protected:
  static BpeTokenizer load() {
    return BpeTokenizer(read_tokenizer_file(testing::golden_file(GetParam().file), GetParam().options));
  }
  static core::Json rows() {
    return core::load_json(testing::golden_file(GetParam().results).string())[GetParam().section];
  }
  static bool is_sentencepiece() { return GetParam().file.ends_with(".model"); }
};

TEST_P(FormatTest, SameIdsAsThePackage) {
  const BpeTokenizer tokenizer = load();
  const core::Json golden = rows();
  ASSERT_GE(golden.size(), 300U);
  const auto encoder = tokenizer.make_encoder();
  for (const core::Json& row : golden) {
    const auto text = row["text"].get<std::string>();
    const auto ids = row["ids"].get<std::vector<std::int32_t>>();
    EXPECT_EQ(tokenizer.encode(text), ids) << row["text"];
    std::vector<std::int32_t> again;
    encoder->encode(text, 0, again);
    EXPECT_EQ(again, ids) << row["text"];
  }
}

/// Unknown pieces decode to nothing here and to a sign in SentencePiece.
TEST_P(FormatTest, SameDecodedTextAsThePackage) {
  const BpeTokenizer tokenizer = load();
  for (const core::Json& row : rows()) {
    const auto ids = row["ids"].get<std::vector<std::int32_t>>();
    if (is_sentencepiece() && std::ranges::find(ids, *tokenizer.definition().unknown) != ids.end()) continue;
    EXPECT_EQ(tokenizer.decode(ids), row[row.contains("decoded") ? "decoded" : "text"].get<std::string>());
  }
}

TEST_P(FormatTest, PiecesCoverTheText) {
  const BpeTokenizer tokenizer = load();
  for (const core::Json& row : rows()) {
    const auto text = row["text"].get<std::string>();
    std::vector<std::int32_t> ids;
    std::size_t end = 0;
    for (const Piece& piece : tokenizer.encode_pieces(text)) {
      EXPECT_TRUE(is_sentencepiece() || piece.begin == end) << text;
      end = piece.end;
      ids.push_back(piece.id);
    }
    EXPECT_EQ(ids, row["ids"].get<std::vector<std::int32_t>>());
    EXPECT_TRUE(is_sentencepiece() || end == text.size()) << text;
  }
}

TEST_P(FormatTest, TokenizerJsonKeepsTheIds) {
  const BpeTokenizer tokenizer = load();
  const BpeTokenizer again = BpeTokenizer::parse(tokenizer.to_json(), "json");
  EXPECT_EQ(again.to_json(), tokenizer.to_json());
  for (const core::Json& row : rows())
    EXPECT_EQ(again.encode(row["text"].get<std::string>()), row["ids"].get<std::vector<std::int32_t>>()) << row["text"];
}

INSTANTIATE_TEST_SUITE_P(
    Gpt2, FormatTest,
    ::testing::Values(Golden{"gpt2.vocab.json", "gpt2.json", "plain"}, Golden{"gpt2.merges.txt", "gpt2.json", "plain"},
                      Golden{"byte_level_plain.tokenizer.json", "gpt2.json", "plain"},
                      Golden{"byte_level_prefix.tokenizer.json", "gpt2.json", "prefix"},
                      Golden{"byte_level_no_regex.tokenizer.json", "gpt2.json", "no_regex"},
                      Golden{"byte_level_cl100k_variant.tokenizer.json", "gpt2.json", "cl100k_variant"}),
    dragoman::testing::kParameterName);

INSTANTIATE_TEST_SUITE_P(
    Tiktoken, FormatTest,
    ::testing::Values(
        Golden{"ranks.tiktoken", "tiktoken.json", "gpt2"},
        Golden{"ranks.tiktoken", "tiktoken.json", "cl100k", {.pattern = WordPattern::kCl100k}},
        Golden{"ranks.tiktoken", "tiktoken.json", "cl100k_variant", {.pattern = WordPattern::kCl100kVariant}}),
    dragoman::testing::kParameterName);

INSTANTIATE_TEST_SUITE_P(
    SentencePiece, FormatTest,
    ::testing::Values(Golden{"sentencepiece_plain.model", "sentencepiece.json", "plain"},
                      Golden{"sentencepiece_keeps_spaces.model", "sentencepiece.json", "keeps_spaces"},
                      Golden{"sentencepiece_bytes.model", "sentencepiece.json", "bytes"},
                      Golden{"sentencepiece_no_prefix.model", "sentencepiece.json", "no_prefix"},
                      Golden{"sentencepiece_across_words.model", "sentencepiece.json", "across_words"}),
    dragoman::testing::kParameterName);

// ---- writing

/// Reads a golden file, writes it as a kind, and reads that.
BpeTokenizer through(const std::string& file, FileKind kind, const ReadOptions& options = {}) {
  const testing::TemporaryFolder folder;
  const auto path = folder / "t.vocab.json";
  write_tokenizer_file(read_tokenizer_file(testing::golden_file(file), options), kind, path);
  ReadOptions again = options;
  again.kind = kind;
  EXPECT_EQ(recognise(path, core::read_file(path)), kind) << file;
  return BpeTokenizer(read_tokenizer_file(path, again));
}

void expect_same(const std::string& file, const BpeTokenizer& written, const ReadOptions& options = {}) {
  const BpeTokenizer read(read_tokenizer_file(testing::golden_file(file), options));
  const core::Json golden = core::load_json(testing::golden_file("gpt2.json").string());
  for (const core::Json& row : golden["plain"]) {
    const auto text = row["text"].get<std::string>();
    EXPECT_EQ(written.encode(text), read.encode(text)) << file << ": " << row["text"];
  }
}

std::string refusal(const std::string& file, FileKind kind) {
  return testing::error_of([&] { through(file, kind); });
}

/// Each was opened with sentencepiece 0.2.3, which refuses it.
TEST(SentencePieceWriter, RefusesWhatTheLibraryWouldNotOpen) {
  const auto refusal = [](const BpeDefinition& definition) {
    return testing::error_of([&] { write_sentencepiece(definition); });
  };
  const auto learned = [](const std::string& text, bool bytes) {
    LearnOptions options;
    options.vocab_size = 290;
    options.min_frequency = 1;
    options.byte_fallback = bytes;
    BpeDefinition definition = testing::learn_from(text, options).definition();
    definition.fuse_unknown = true;
    return definition;
  };
  EXPECT_THAT(refusal(learned(std::string("a\0b a\0b\n", 8), true)), HasSubstr("NUL"));
  BpeDefinition special = learned("ab ab\n", true);
  for (std::size_t id = 0; id < special.pieces.size(); ++id)
    if (byte_of_piece(special.pieces[id])) special.added_tokens.push_back({static_cast<std::int32_t>(id), true});
  EXPECT_THAT(refusal(special), HasSubstr("byte fallback needs 256 pieces that are bytes, and 0 are"));
  special.added_tokens.resize(4);
  EXPECT_THAT(refusal(special), HasSubstr("and 255 are"));
  EXPECT_THAT(refusal(learned("ab ab\n", false)), ::testing::Eq("no error"));
}

TEST(WritingFormats, EveryKindReadsWhatItWrote) {
  expect_same("gpt2.vocab.json", through("gpt2.vocab.json", FileKind::kGpt2));
  expect_same("gpt2.vocab.json", through("gpt2.vocab.json", FileKind::kTiktoken));
  expect_same("ranks.tiktoken", through("ranks.tiktoken", FileKind::kTiktoken));
  for (const char* name : {"plain", "keeps_spaces", "bytes", "no_prefix", "across_words"}) {
    const std::string file = std::string("sentencepiece_") + name + ".model";
    expect_same(file, through(file, FileKind::kSentencePiece));
  }
  expect_same("default.tokenizer.json", through("default.tokenizer.json", FileKind::kSentencePiece));
}

TEST(WritingFormats, RanksThatAreWrittenAreTheFileThatWasRead) {
  const testing::TemporaryFolder folder;
  write_tokenizer_file(read_tokenizer_file(testing::golden_file("ranks.tiktoken")), FileKind::kTiktoken, folder / "r");
  EXPECT_EQ(core::read_file(folder / "r"), core::read_file(testing::golden_file("ranks.tiktoken")));
}

TEST(WritingFormats, BothFilesOfGpt2OrNeither) {
  const testing::TemporaryFolder folder;
  const auto definition = read_tokenizer_file(testing::golden_file("gpt2.vocab.json"));
  std::filesystem::create_directory(folder / "vocab.json");
  core::write_file(folder / "merges.txt", "older\n");
  EXPECT_NE(testing::error_of([&] { write_tokenizer_file(definition, FileKind::kGpt2, folder / "vocab.json"); }), "");
  EXPECT_EQ(core::read_file(folder / "merges.txt"), "older\n");
}

/// A process that is killed between the two must leave a mark, so its place is looked at before either is replaced.
TEST(WritingFormats, FilesOfGpt2ArePublishedTogether) {
  const testing::TemporaryFolder folder;
  const auto definition = read_tokenizer_file(testing::golden_file("gpt2.vocab.json"));
  core::write_file(folder / "vocab.json", "{}\n");
  core::write_file(folder / "merges.txt", "older\n");
  std::filesystem::create_directory(folder / "vocab.json.superseded");
  EXPECT_NE(testing::error_of([&] { write_tokenizer_file(definition, FileKind::kGpt2, folder / "vocab.json"); }), "");
  EXPECT_EQ(core::read_file(folder / "merges.txt"), "older\n");
  EXPECT_EQ(core::read_file(folder / "vocab.json"), "{}\n");
}

/// The caller names the vocab.json only.
TEST(WritingFormats, AMergesFileThatBelongsToNoVocabularyIsKept) {
  const testing::TemporaryFolder folder;
  const auto definition = read_tokenizer_file(testing::golden_file("gpt2.vocab.json"));
  const auto refusal = [&] {
    return testing::error_of([&] { write_tokenizer_file(definition, FileKind::kGpt2, folder / "a-vocab.json"); });
  };
  core::write_file(folder / "a-merges.txt", "precious\n");
  EXPECT_THAT(refusal(), HasSubstr("a-merges.txt: would be replaced"));
  EXPECT_EQ(core::read_file(folder / "a-merges.txt"), "precious\n");
  std::filesystem::rename(folder / "a-merges.txt", folder / "target");
  std::filesystem::create_symlink("target", folder / "a-merges.txt");
  EXPECT_THAT(refusal(), HasSubstr("a-merges.txt: is a link"));
  EXPECT_EQ(core::read_file(folder / "target"), "precious\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "a-vocab.json"));
}

TEST(WritingFormats, WhatAKindCannotRepresentIsRefusedWithTheReason) {
  EXPECT_THAT(refusal("gpt2.vocab.json", FileKind::kSentencePiece), HasSubstr("byte alphabet"));
  EXPECT_THAT(refusal("gpt2.vocab.json", FileKind::kSubwordNmt), HasSubstr("do not end with </w>"));
  EXPECT_THAT(refusal("gpt2.vocab.json", FileKind::kFastBpe), HasSubstr("counts"));
  EXPECT_THAT(refusal("ranks.tiktoken", FileKind::kGpt2), HasSubstr("whole words"));
  EXPECT_THAT(refusal("sentencepiece_plain.model", FileKind::kTiktoken), HasSubstr("byte alphabet"));
  EXPECT_THAT(refusal("subword_nmt.codes02", FileKind::kSentencePiece), HasSubstr("ends of words"));
  EXPECT_THAT(refusal("subword_nmt.codes01", FileKind::kTokenizerJson), HasSubstr("symbol of its own"));
  EXPECT_THAT(refusal("nfkc.tokenizer.json", FileKind::kSentencePiece), HasSubstr("of its own"));
  EXPECT_THAT(refusal("byte_level_prefix.tokenizer.json", FileKind::kGpt2), HasSubstr("space in front"));
  EXPECT_THAT(refusal("byte_level_cl100k_variant.tokenizer.json", FileKind::kGpt2), HasSubstr("another pattern"));
}

// ---- refusals of readers

std::string gpt2_error(const std::string& vocabulary, const std::string& merges) {
  return testing::error_of([&] { BpeTokenizer(read_gpt2(vocabulary, merges, "file")); });
}

/// As `--tokenizer <(ssh host cat tokenizer.json)` gives it: what is read is gone.
TEST(OpeningFiles, ReadsAPipe) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string content = core::read_file(testing::golden_file("nfkc.tokenizer.json"));
  std::thread writer([&] { std::ofstream(pipe) << content; });
  const auto tokenizer = open_tokenizer_file(pipe);
  writer.join();
  EXPECT_EQ(tokenizer->size(), load_tokenizer(testing::golden_file("nfkc.tokenizer.json"))->size());
}

TEST(OpeningFiles, AKindThatIsNamedNeedNotBeRecognised) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "codes", "a b 7 8\n");  // as no kind has it
  EXPECT_THAT(testing::error_of([&] { open_tokenizer_file(folder / "codes"); }), HasSubstr("name the kind"));
  EXPECT_THAT(testing::error_of([&] { open_tokenizer_file(folder / "codes", {.kind = FileKind::kSubwordNmt}); }),
              ::testing::Not(HasSubstr("name the kind")));
}

TEST(Gpt2Files, RefusesContradictions) {
  EXPECT_THAT(gpt2_error("{\n\"a\"", ""), AllOf(HasSubstr(": not valid JSON: syntax error"),
                                                HasSubstr(" at line 2, column "), Not(HasSubstr("json.exception"))));
  EXPECT_THAT(gpt2_error("[]", ""), HasSubstr("expected"));
  EXPECT_THAT(gpt2_error("{\"a\": {\"b\": {\"c\": 1}}}", ""), HasSubstr("nothing inside"));
  EXPECT_THAT(gpt2_error("{\"a\": 0, \"b\": 2}", ""), HasSubstr("without a gap"));
  EXPECT_THAT(gpt2_error("{\"a\": 0, \"b\": 0}", ""), HasSubstr("share the id 0"));
  EXPECT_THAT(gpt2_error("{\"a\": 0, \"b\": -1}", ""), HasSubstr("without a gap"));
  EXPECT_THAT(gpt2_error("{\"a\": 0, \"b</w>\": 1}", ""), HasSubstr("</w>"));
  EXPECT_THAT(gpt2_error("{\"a\": 0, \"b\": 1}", "#version: 0.2\na b\n"),
              AllOf(HasSubstr("merges line 2"), HasSubstr("'ab'")));
  EXPECT_THAT(gpt2_error("{\"a\": 0}", "#version: 0.2\na a a\n"), HasSubstr("two pieces"));
  EXPECT_EQ(gpt2_error("{\"a\": 0, \"b\": 1, \"ab\": 2}", "#version: 0.2\na b\n"), "no error");
}

TEST(Base64, ReadsOnlyWhatItWrites) {
  for (const std::string bytes : {"", "a", "ab", "abc", "\xFF\xFE\xFD\xFC"})
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  for (const char* text : {"a", "ab", "abc", "=", "====", "a===", "ab=c", "YR==", "Y Q=", "YQ=\n", "YQ==YQ=="})
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

TEST(Tiktoken, RefusesGapsAndRubbish) {
  const auto error = [](const std::string& text) {
    return testing::error_of([&] { read_tiktoken(text, "ranks", {}); });
  };
  EXPECT_THAT(error("YQ== 0\n"), HasSubstr("the byte 0x00 has no rank"));
  EXPECT_THAT(error("YQ== 1\n"), AllOf(HasSubstr("ranks: line 1"), HasSubstr("gap")));
  EXPECT_THAT(error("YQ== 0\nYg== 0\n"), HasSubstr("line 2"));
  EXPECT_THAT(error("YQ== -1\n"), HasSubstr("not a rank"));
  EXPECT_THAT(error("YQ= 0\n"), HasSubstr("not base64"));
  EXPECT_THAT(error("YQ==\n"), HasSubstr("expected a token"));
}

struct SmallModel {
  std::vector<std::tuple<std::string, float, std::uint64_t>> pieces = {
      {"<unk>", 0.F, 2}, {"ab", -1.F, 1}, {"a", -2.F, 1}, {"b", -3.F, 1}, {"\xE2\x96\x81", -4.F, 1}};
  std::uint64_t model_type = 2;
  std::string character_map;

  std::string bytes() const {
    WireWriter file;
    for (const auto& [text, score, type] : pieces) {
      WireWriter piece;
      piece.bytes(1, text);
      piece.real(2, score);
      piece.varint(3, type);
      file.bytes(1, piece.message());
    }
    WireWriter trainer;
    trainer.varint(3, model_type);
    file.bytes(2, trainer.message());
    WireWriter normalizer;
    normalizer.bytes(1, "nmt_nfkc");
    normalizer.bytes(2, character_map);
    file.bytes(3, normalizer.message());
    return file.message();
  }
  std::string error() const {
    return testing::error_of([&] { BpeTokenizer(read_sentencepiece(bytes(), "model")); });
  }
};

TEST(SentencePiece, NeighboursMergeIfTheirTextIsAPiece) {
  SmallModel model;
  const BpeTokenizer tokenizer(read_sentencepiece(model.bytes(), "model"));
  EXPECT_THAT(testing::pieces_of(tokenizer, " ab  ba c"),
              ElementsAre("\xE2\x96\x81", "ab", "\xE2\x96\x81", "b", "a", "\xE2\x96\x81", "<unk>"));
}

TEST(SentencePiece, RefusesWhatItCannotFollow) {
  SmallModel unigram{.model_type = 1, .character_map = {}};
  EXPECT_THAT(unigram.error(), HasSubstr("unigram"));
  SmallModel words{.model_type = 3, .character_map = {}};
  EXPECT_THAT(words.error(), HasSubstr("type word"));
  SmallModel normalised{.character_map = "map"};
  EXPECT_THAT(normalised.error(), HasSubstr("model: a character map of 3 bytes is cut short"));
  SmallModel unused_character;
  unused_character.pieces.emplace_back("x", 0.F, 5);
  unused_character.pieces.emplace_back("ax", 0.F, 1);
  EXPECT_THAT(unused_character.error(), HasSubstr("the piece 'ax' holds the character 'x'"));
  SmallModel tied;
  tied.pieces.emplace_back("ba", -1.F, 1);
  EXPECT_THAT(tied.error(), HasSubstr("same score"));
  SmallModel hole;
  hole.pieces.emplace_back("bc", -5.F, 1);
  EXPECT_THAT(hole.error(), HasSubstr("'c'"));
  SmallModel twice;
  twice.pieces.emplace_back("<unk2>", 0.F, 2);
  EXPECT_THAT(twice.error(), HasSubstr("second unknown"));
  SmallModel wrong_type;
  wrong_type.pieces.emplace_back("x", 0.F, 9);
  EXPECT_THAT(wrong_type.error(), HasSubstr("type 9"));
  const std::string bytes = SmallModel().bytes();
  EXPECT_THAT(testing::error_of([&] { read_sentencepiece(bytes.substr(0, 9), "model"); }),
              AllOf(HasSubstr("model"), HasSubstr("byte")));
}

TEST(Recognise, ARankFileWithABadLineIsOneAndTheLineIsNamed) {
  const testing::TemporaryFolder folder;
  std::string ranks = core::read_file(testing::golden_file("ranks.tiktoken"), 1 << 24);
  const std::size_t third = ranks.find('\n', ranks.find('\n') + 1) + 1;
  ranks.insert(third, "?? ");
  core::write_file(folder / "ranks.tiktoken", ranks);
  EXPECT_EQ(recognise(folder / "ranks.tiktoken", ranks), FileKind::kTiktoken);
  EXPECT_THAT(testing::error_of([&] { load_tokenizer(folder / "ranks.tiktoken"); }), HasSubstr("line 3"));
  EXPECT_EQ(recognise(folder / "codes", "a b\nab 1\n"), FileKind::kSubwordNmt);
}

}  // namespace
}  // namespace dragoman::tokenizer
