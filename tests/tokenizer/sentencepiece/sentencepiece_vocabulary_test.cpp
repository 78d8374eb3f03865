#include "formats_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

/// golden/make_spm_vocabulary_golden.py
TEST(SentencePieceVocabulary, RestrictsPiecesAsTheLibraryDoes) {
  const core::Json cases = core::load_json(testing::golden_file("spm_vocabulary.json").string());
  ASSERT_EQ(cases.size(), 14U);
  for (const core::Json& each : cases) {
    const auto name = each["model"].get<std::string>();
    const auto tokenizer = open_tokenizer_file(testing::sentencepiece_model(name),
                                               {.vocabulary = testing::golden_file("spm_vocabulary.tsv"),
                                                .vocabulary_threshold = each["threshold"].get<std::int64_t>()});
    for (const core::Json& row : each["rows"])
      EXPECT_EQ(tokenizer->encode(row["text"].get<std::string>()), row["ids"].get<Ids>())
          << name << ' ' << each["threshold"] << ' ' << row["text"];
  }
}

TEST(SentencePieceVocabulary, StaysInAModelThatIsWritten) {
  const testing::TemporaryFolder folder;
  const ReadOptions options{.vocabulary = testing::golden_file("spm_vocabulary.tsv"), .vocabulary_threshold = 50};
  for (const char* name : {"bytes", "unigram_plain"}) {
    const auto restricted = open_tokenizer_file(testing::sentencepiece_model(name), options);
    std::visit([&](const auto& d) { write_tokenizer_file(d, FileKind::kSentencePiece, folder / "m.model"); },
               read_any_tokenizer_file(testing::sentencepiece_model(name), options));
    const auto written = load_tokenizer(folder / "m.model");
    for (const char* line : {"the river and the song", "interpreters \xC3\xA9 7"})
      EXPECT_EQ(written->encode(line), restricted->encode(line)) << name;
  }
}

TEST(SentencePieceVocabulary, LinesAreChecked) {
  const testing::TemporaryFolder folder;
  for (const char* line : {"the\tmany\n", "\t5\n"}) {
    core::write_file(folder / "v.tsv", std::string("a\t5\nb\n") + line);
    EXPECT_THAT(testing::error_of([&] {
                  open_tokenizer_file(testing::sentencepiece_model("plain"), {.vocabulary = folder / "v.tsv"});
                }),
                HasSubstr("line 3: expected a piece, a tab and its count"));
  }
}

TEST(SentencePieceVocabulary, ScoresAndListsWithoutAPieceAreRefused) {
  const testing::TemporaryFolder folder;
  const auto error_with = [&](const std::string& list, std::int64_t threshold) {
    core::write_file(folder / "v.tsv", list);
    return testing::error_of([&] {
      open_tokenizer_file(testing::sentencepiece_model("plain"),
                          {.vocabulary = folder / "v.tsv", .vocabulary_threshold = threshold});
    });
  };
  EXPECT_THAT(error_with("<unk>\t0\na\t-1\n", 1), HasSubstr("v.tsv: line 2: -1 is no count but a score"));
  EXPECT_THAT(error_with("a\t3\n", 4), HasSubstr("no piece in it has the count 4"));
}

TEST(SentencePieceVocabulary, AListOfAnotherModelIsRefused) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"plain", "unigram_plain"}) {
    core::write_file(folder / "v.tsv", "zork\t7\nblarf\t9\n");
    EXPECT_THAT(testing::error_of(
                    [&] { open_tokenizer_file(testing::sentencepiece_model(name), {.vocabulary = folder / "v.tsv"}); }),
                HasSubstr("`vocabulary` lists no piece of this model"));
    core::write_file(folder / "v.tsv", "zork\t7\na\t9\n");
    EXPECT_NO_THROW(open_tokenizer_file(testing::sentencepiece_model(name), {.vocabulary = folder / "v.tsv"}));
  }
}

/// As fairseq's dict.txt has it: spm_encode takes the line for one piece, and cuts all words into characters.
TEST(SentencePieceVocabulary, ASpaceBeforeTheCountIsRefused) {
  const testing::TemporaryFolder folder;
  for (const char* line : {"the 5\n", "the 5\r\n", "the 5"}) {
    core::write_file(folder / "dict.txt", std::string("a\t5\n") + line);
    EXPECT_THAT(testing::error_of([&] {
                  open_tokenizer_file(testing::sentencepiece_model("plain"), {.vocabulary = folder / "dict.txt"});
                }),
                HasSubstr("dict.txt: line 2: there is a space before the count"));
  }
  core::write_file(folder / "dict.txt", "a\nNew York\nNew 5\t7\n");
  EXPECT_NO_THROW(open_tokenizer_file(testing::sentencepiece_model("plain"), {.vocabulary = folder / "dict.txt"}));
}

/// golden/make_sentencepiece_char_golden.py
TEST(SentencePieceChar, SameIdsAndTextAsTheLibrary) {
  const core::Json sections = core::load_json(testing::golden_file("sentencepiece_char.json").string());
  const testing::TemporaryFolder folder;
  for (const auto& [name, rows] : sections.items()) {
    const auto tokenizer = load_tokenizer(testing::golden_file("sentencepiece_" + name + ".model"));
    // What is written is of the type bpe, without a merge.
    const BpeDefinition definition = read_tokenizer_file(testing::golden_file("sentencepiece_" + name + ".model"));
    EXPECT_TRUE(definition.merges.empty());
    write_tokenizer_file(definition, FileKind::kSentencePiece, folder / "again.model");
    const auto again = load_tokenizer(folder / "again.model");
    ASSERT_GE(rows.size(), 100U);
    for (const core::Json& row : rows) {
      const auto text = row["text"].get<std::string>();
      const auto ids = row["ids"].get<std::vector<std::int32_t>>();
      EXPECT_EQ(tokenizer->encode(text), ids) << name << ": " << text;
      EXPECT_EQ(again->encode(text), ids) << name << ": " << text;
      if (std::ranges::find(ids, 0) == ids.end()) {
        EXPECT_EQ(tokenizer->decode(ids), row["decoded"]) << name << ": " << text;
      }
    }
  }
}

/// golden/make_tied_scores_golden.py
TEST(SentencePieceTiedScores, TheLeftmostMergesFirst) {
  const auto tokenizer = load_tokenizer(testing::golden_file("sentencepiece_bpe_tied.model"));
  const core::Json rows = core::load_json(testing::golden_file("tied_scores.json").string());
  ASSERT_GE(rows.size(), 200U);
  std::size_t tied = 0;
  for (const core::Json& row : rows) {
    const auto ids = row["ids"].get<Ids>();
    EXPECT_EQ(tokenizer->encode(row["text"].get<std::string>()), ids) << row["text"];
    for (const std::int32_t id : ids) tied += id >= 330 ? 1 : 0;
  }
  EXPECT_GT(tied, 100U) << "the pieces that were added are used";
}

std::string cut_after_fields(const std::string& bytes, std::size_t dropped);

/// A model without its last fields, which hold the trainer's and the normaliser's settings.
TEST(DamagedSentencePieceModels, AreRefusedIfBytesHaveNoFallback) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"bytes", "unigram_bytes", "bpe_unused_bytes", "bpe_symbols_bytes"}) {
    const std::string bytes = core::read_file(testing::sentencepiece_model(name));
    for (const std::size_t dropped : {2U, 3U, 40U}) {
      core::write_file(folder / "cut.model", cut_after_fields(bytes, dropped));
      EXPECT_THAT(testing::error_of([&] { load_tokenizer(folder / "cut.model"); }),
                  HasSubstr("is a byte piece, but byte fallback is off; the file is cut"))
          << name;
      EXPECT_THAT(testing::error_of([&] { read_any_tokenizer_file(folder / "cut.model"); }), HasSubstr("is cut"))
          << name;
    }
  }
}

/// The bytes without the last so many fields of the file.
std::string cut_after_fields(const std::string& bytes, std::size_t dropped) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < bytes.size();) {
    ++at;  // fields 1 to 3 of bytes
    std::size_t length = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      length |= static_cast<std::size_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    at += length;
    ends.push_back(at);
  }
  return bytes.substr(0, ends[ends.size() - 1 - dropped]);
}

}  // namespace
}  // namespace dragoman::tokenizer
