#include "tokenizer_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/count_words.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/line_coding.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;

/// More than a chunk of the reader, with bytes that are not UTF-8 far behind its beginning, halves of characters at the
/// ends of words, lines and the file, and NUL bytes.
std::string long_text() {
  std::string text = std::string("a\0b x\n", 6);
  while (text.size() < 3'000'000) text += "the river é 漢字 \U0001F600\n";
  return text + "x\xFFy \xE2\x96 z\xC3\nder \xED\xA0\x80 Fluss\r\n\xF0\x9F\x98";
}

class InvalidUtf8Test : public ::testing::Test {
 protected:
  InvalidUtf8Test() {
    core::write_file(path("text"), text_);
    std::string replaced = text_;
    core::replace_invalid_utf8(replaced);
    core::write_file(path("replaced"), replaced);
  }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  std::string learned(const std::string& name, InvalidUtf8 policy, bool word_marks = true) const {
    LearnOptions options{.vocab_size = 320, .word_marks = word_marks};
    options.invalid_utf8 = policy;
    return learn_bpe({path(name)}, options).to_json();
  }
  std::string counted(const std::string& name, InvalidUtf8 policy) const {
    core::OutputFile output(path("counts"));
    count_words({path(name)}, output, {.threads = 2, .invalid_utf8 = policy});
    output.commit();
    return core::read_file(path("counts"));
  }
  std::string encoded(const std::string& name, InvalidUtf8 policy) const {
    const BpeTokenizer tokenizer = testing::learn_from("the river\n", {.vocab_size = 270});
    core::OutputFile output(path("ids"));
    encode_lines(tokenizer, path(name), output, {.format = LineFormat::kIds, .threads = 2, .invalid_utf8 = policy});
    output.commit();
    return core::read_file(path("ids"));
  }
  template <class Action>
  static std::string error_of(Action&& action) {
    try {
      action();
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }

  const std::string text_ = long_text();
  testing::TemporaryFolder folder_;
};

TEST_F(InvalidUtf8Test, ReplacingWhileReadingIsReplacingBefore) {
  ASSERT_NE(core::read_file(path("text")), core::read_file(path("replaced")));
  EXPECT_EQ(learned("text", InvalidUtf8::kReplace), learned("replaced", InvalidUtf8::kKeep));
  EXPECT_EQ(learned("text", InvalidUtf8::kReplace, false), learned("replaced", InvalidUtf8::kKeep, false));
  EXPECT_EQ(counted("text", InvalidUtf8::kReplace), counted("replaced", InvalidUtf8::kKeep));
  EXPECT_EQ(encoded("text", InvalidUtf8::kReplace), encoded("replaced", InvalidUtf8::kKeep));
  EXPECT_NE(counted("text", InvalidUtf8::kKeep), counted("replaced", InvalidUtf8::kKeep));
  EXPECT_NE(encoded("text", InvalidUtf8::kKeep), encoded("replaced", InvalidUtf8::kKeep));
}

TEST_F(InvalidUtf8Test, FailingNamesFileLineAndOffset) {
  const std::size_t offset = text_.find('\xFF');
  const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n') + 1;
  const std::string place =
      path("text").string() + ": line " + std::to_string(line) + ": the byte 0xFF at offset " + std::to_string(offset);
  EXPECT_THAT(error_of([&] { learned("text", InvalidUtf8::kFail); }), HasSubstr(place));
  EXPECT_THAT(error_of([&] { counted("text", InvalidUtf8::kFail); }), HasSubstr(place));
  EXPECT_THAT(error_of([&] { encoded("text", InvalidUtf8::kFail); }), HasSubstr(place));
}

TEST_F(InvalidUtf8Test, ValidTextIsTheSameUnderEveryPolicy) {
  for (const InvalidUtf8 policy : {InvalidUtf8::kReplace, InvalidUtf8::kFail}) {
    EXPECT_EQ(counted("replaced", policy), counted("replaced", InvalidUtf8::kKeep));
    EXPECT_EQ(encoded("replaced", policy), encoded("replaced", InvalidUtf8::kKeep));
  }
}

TEST_F(InvalidUtf8Test, LinesAndOffsetsAreThoseOfTheFileAtFault) {
  core::write_file(path("first"), "one\ntwo\nthree");
  core::write_file(path("second"), "four\n\nfi\xE9ve\n");
  core::OutputFile output(path("counts"));
  const auto count = [&] {
    count_words({path("first"), path("second")}, output, {.invalid_utf8 = InvalidUtf8::kFail});
  };
  EXPECT_THAT(error_of(count), HasSubstr("second: line 3: the byte 0xE9 at offset 8"));
}

TEST_F(InvalidUtf8Test, NulBytesAreCharacters) {
  const std::string text("a\0b \0\0 a\0b\n", 11);
  core::write_file(path("nul"), text);
  EXPECT_EQ(counted("nul", InvalidUtf8::kFail), std::string("1\t\0\0\n2\ta\0b\n", 11));
  const BpeTokenizer tokenizer = learn_bpe({path("nul")}, {.vocab_size = 270});
  EXPECT_TRUE(tokenizer.id(std::string(1, '\0')).has_value());
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(BpeTokenizer::parse(tokenizer.to_json(), "again").decode(tokenizer.encode(text)), text);
}

TEST_F(InvalidUtf8Test, AnEmptyTextHasNothingToRefuse) {
  core::write_file(path("empty"), "");
  for (const InvalidUtf8 policy : {InvalidUtf8::kKeep, InvalidUtf8::kReplace, InvalidUtf8::kFail}) {
    EXPECT_EQ(counted("empty", policy), "");
    EXPECT_EQ(encoded("empty", policy), "");
    EXPECT_THAT(error_of([&] { learned("empty", policy); }), HasSubstr("empty: no words to learn from"));
  }
}

}  // namespace
}  // namespace dragoman::tokenizer
