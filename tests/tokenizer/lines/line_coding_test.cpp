#include "error_message.h"
#include "tokenizer_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/encoding_modes.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/line_coding.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;

class LineCoding : public ::testing::Test {
 protected:
  std::string encode(const std::string& text, const LineCodingOptions& options) {
    return run(text, [&](const std::filesystem::path& in, core::OutputFile& out) {
      encode_lines(tokenizer_, in, out, options);
    });
  }
  std::string decode(const std::string& text, const LineCodingOptions& options) {
    return run(text, [&](const std::filesystem::path& in, core::OutputFile& out) {
      changed_ = decode_lines(tokenizer_, in, out, options);
    });
  }
  std::string decode_error(const std::string& text, const LineCodingOptions& options) {
    try {
      decode(text, options);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }

  BpeTokenizer tokenizer_ = BpeTokenizer::load(testing::golden_file("default.tokenizer.json"));
  std::uint64_t changed_ = 0;
  static constexpr LineFormat kIds = LineFormat::kIds;

 private:
  template <class Code>
  std::string run(const std::string& text, Code code) {
    core::write_file(folder_ / "in", text);
    core::OutputFile output(folder_ / "out");
    code(folder_ / "in", output);
    output.commit();
    return core::read_file(folder_ / "out");
  }
  testing::TemporaryFolder folder_;
};

TEST_F(LineCoding, NBestSegmentationsAreOfPlainText) {
  LineCodingOptions options{.n_best = 2};
  options.encode.match_special_tokens = true;
  EXPECT_THAT(testing::message_of([&] { encode("the</s>\n", options); }, core::ErrorCode::kUnsupported),
              HasSubstr("special tokens in it cannot be matched"));
}

TEST_F(LineCoding, EachTokenizerSaysItsModes) {
  EXPECT_FALSE(has_encoding_mode(tokenizer_, EncodingMode::kSample));
  for (const EncodingMode mode : {EncodingMode::kExact, EncodingMode::kGreedy, EncodingMode::kDropout})
    EXPECT_TRUE(has_encoding_mode(tokenizer_, mode));
}

TEST_F(LineCoding, OneLineOutForEachLineIn) {
  EXPECT_EQ(encode("", {}), "");
  EXPECT_EQ(encode("\n\n", {}), "\n\n");
  EXPECT_EQ(encode("the river\n\nthe", {}), "\u2581the \u2581river\n\n\u2581the\n");
  EXPECT_EQ(encode("a \u2581\r\n", {}), "\u2581a \u2581 \u2581 <0x0D>\n") << "a carriage return is kept";
}

TEST_F(LineCoding, BothFormatsComeBack) {
  const std::string text = core::read_file(testing::golden_file("corpus.txt")) + "  odd \xFF bytes\t\r\n\n";
  EXPECT_EQ(decode(encode(text, {}), {}), text);
  EXPECT_EQ(decode(encode(text, {.format = kIds}), {.format = kIds}), text);
  EXPECT_EQ(changed_, 0U);
}

TEST_F(LineCoding, TheOutputDoesNotDependOnTheNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "the interpreter sat between delegations " + std::to_string(i) + "\n";
  LineCodingOptions options;
  options.encode = {.mode = EncodingMode::kDropout, .dropout = 0.2, .seed = 4};
  options.threads = 1;
  const std::string one = encode(text, options);
  options.threads = 5;
  EXPECT_EQ(encode(text, options), one);
  EXPECT_EQ(decode(one, options), text);
}

TEST_F(LineCoding, DropoutDrawsAreKeyedByLine) {
  LineCodingOptions options;
  options.encode = {.mode = EncodingMode::kDropout, .dropout = 0.5, .seed = 4};
  const std::string lines = encode("the interpreter\nthe interpreter\nthe interpreter\n", options);
  options.encode.line = 2;
  EXPECT_EQ(encode("the interpreter\n", options), lines.substr(lines.rfind('\n', lines.size() - 2) + 1));
}

TEST_F(LineCoding, WhatIsNoPieceOrIdIsAnErrorWithItsLine) {
  EXPECT_THAT(decode_error("\u2581the\n\u2581river nonsensepiece\n", {}),
              AllOf(HasSubstr("line 2"), HasSubstr("'nonsensepiece'")));
  EXPECT_THAT(decode_error("1 2\n3\n4 x\n", {.format = kIds}), AllOf(HasSubstr("line 3"), HasSubstr("'x'")));
  EXPECT_THAT(decode_error("640\n", {.format = kIds}), AllOf(HasSubstr("line 1"), HasSubstr("from 0 to 639")));
  EXPECT_THAT(decode_error("-1\n", {.format = kIds}), HasSubstr("'-1'"));
  EXPECT_THAT(decode_error("99999999999999999999\n", {.format = kIds}), HasSubstr("line 1"));
  EXPECT_THAT(decode_error("12a\n", {.format = kIds}), HasSubstr("'12a'"));
}

TEST_F(LineCoding, ADecodedLineFeedBecomesASpace) {
  EXPECT_EQ(decode("\u2581the <0x0A> \u2581river\n\u2581the\n", {}), "the  river\nthe\n");
  EXPECT_EQ(changed_, 1U);
}

TEST_F(LineCoding, SpacesInPiecesAreMarks) {
  LearnOptions options;
  options.vocab_size = 300;
  options.user_symbols = {"New York", "San  Jose"};
  tokenizer_ = testing::learn_from("in New York\nin San  Jose\nin York\n", options);
  const std::string text = "in New York in San  Jose in New  York\n";
  const std::string pieces = encode(text, {});
  EXPECT_THAT(pieces, HasSubstr(" New\u2581York "));
  EXPECT_THAT(pieces, HasSubstr(" San\u2581\u2581Jose "));
  EXPECT_EQ(decode(pieces, {}), text);
  EXPECT_EQ(decode(encode(text, {.format = kIds}), {.format = kIds}), text);
  // Where a mark is a character like others, pieces with spaces may look like others.
  options.user_symbols = {};
  options.word_marks = false;
  tokenizer_ = testing::learn_from("a b a b a b a\u2581b a\u2581b\n", options);
  EXPECT_THROW(encode("a b\n", {}), core::Error);
  EXPECT_EQ(decode(encode("a b\n", {.format = kIds}), {.format = kIds}), "a b\n");
}

TEST_F(LineCoding, JsonHasOffsets) {
  const std::string lines = encode("the  river\n\n", {.format = LineFormat::kJson, .in_front = {1}, .behind = {2}});
  const core::Json first = core::parse_json(lines.substr(0, lines.find('\n')), "line");
  EXPECT_EQ(first["pieces"].front(), "<s>");
  EXPECT_EQ(first["pieces"].back(), "</s>");
  EXPECT_EQ(first["offsets"].front(), core::Json({0, 0}));
  EXPECT_EQ(first["offsets"].back(), core::Json({10, 10}));
  std::vector<std::int32_t> ids{1};
  std::size_t i = 1;
  for (const Piece& piece : tokenizer_.encode_pieces("the  river")) {
    ids.push_back(piece.id);
    EXPECT_EQ(first["offsets"][i++], core::Json({piece.begin, piece.end}));
  }
  ids.push_back(2);
  EXPECT_EQ(first["ids"], core::Json(ids));
  EXPECT_THAT(lines, HasSubstr(R"({"pieces":["<s>","</s>"],"ids":[1,2],"offsets":[[0,0],[0,0]]})"));
  EXPECT_THAT(decode_error(lines, {.format = LineFormat::kJson}), HasSubstr("not decoded"));
  EXPECT_THROW(encode("a\n", {.format = LineFormat::kJson, .reverse = true}), core::Error);
}

TEST_F(LineCoding, AByteOrderMarkIsToldOnce) {
  std::vector<std::string> told;
  const auto log = [&](core::LogLevel, std::string_view message) { told.emplace_back(message); };
  EXPECT_EQ(encode("\xEF\xBB\xBFthe\n\xEF\xBB\xBF\n", {.format = kIds, .log = log}),
            encode("the\n\xEF\xBB\xBF\n", {.format = kIds, .log = log}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told.front(), HasSubstr("the byte order mark at its start is left out"));
  const testing::TemporaryFolder folder;
  for (const char* name : {"a", "b"}) core::write_file(folder / name, "\xEF\xBB\xBFthe the\n");
  learn_bpe({folder / "a", folder / "b"}, {.vocab_size = 280}, {}, log);
  EXPECT_EQ(std::ranges::count_if(told, [](const auto& each) { return each.find("byte order") != std::string::npos; }),
            2)
      << "one message for both files";
}

TEST_F(LineCoding, ALineThatCannotBeEncodedIsNamed) {
  // Forty times twice as long: too much. Any other letter stays as it is.
  core::Json json = core::load_json(testing::golden_file("default.tokenizer.json").string());
  const core::Json doubling = {{"type", "Replace"}, {"pattern", {{"String", "q"}}}, {"content", "qq"}};
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", core::Json::array()}};
  for (int i = 0; i < 40; ++i) json["normalizer"]["normalizers"].push_back(doubling);
  for (core::Json& token : json["added_tokens"]) token["normalized"] = false;
  tokenizer_ = BpeTokenizer::parse(json.dump(), "doubling");
  std::string lines;  // of more than one chunk
  for (int i = 0; i < 200'000; ++i) lines += "the river\n";
  for (const int threads : {1, 4}) {
    const std::string error = testing::error_of([&] { encode(lines + "the\nq\nriver\n", {.threads = threads}); });
    EXPECT_THAT(error, AllOf(HasSubstr("in: line 200002: "), HasSubstr("the normalizer")));
  }
}

TEST_F(LineCoding, StopsWhenAsked) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "in", "the river\n");
  core::OutputFile output(folder / "out");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(encode_lines(tokenizer_, folder / "in", output, {}, {}, stop.get_token()), core::Error);
}

}  // namespace
}  // namespace dragoman::tokenizer
