#include "formats_test_support.h"
#include "tokenizer_test_support.h"

#include <cstdio>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/count_words.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Words = ReproduceTokenizers::Words;

/// golden/make_reproduce_golden.py wrote what subword-nmt 0.3.8 and tokenizers 0.23.3 learn.
const core::Json& reproduced_golden() {
  static const core::Json file = core::load_json(testing::golden_file("reproduce.json").string());
  return file;
}

std::string codes_of(const BpeTokenizer& tokenizer) {
  const testing::TemporaryFolder folder;
  write_tokenizer_file(tokenizer.definition(), FileKind::kSubwordNmt, folder / "codes");
  return core::read_file(folder / "codes");
}

LearnOptions like_subword_nmt(const core::Json& row) {
  LearnOptions options;
  options.reproduce = ReproduceSubwordNmt{.merges = row["merges"].get<std::int32_t>(),
                                          .total_symbols = row.value("total_symbols", false)};
  options.min_frequency = row.value("min_frequency", std::uint64_t{2});
  return options;
}

LearnOptions like_tokenizers(const std::string& words) {
  ReproduceTokenizers package;
  package.words = words == "metaspace"    ? Words::kMetaspace
                  : words == "spaces"     ? Words::kSpaces
                  : words == "whitespace" ? Words::kWhiteSpace
                                          : Words::kByteLevel;
  package.add_prefix_space = words == "byte-level prefix";
  LearnOptions options;
  options.reproduce = package;
  return options;
}

LearnOptions like_tokenizers(const core::Json& row) {
  LearnOptions options = like_tokenizers(row["words"].get<std::string>());
  auto& package = std::get<ReproduceTokenizers>(options.reproduce);
  package.all_bytes = row.value("all_bytes", false);
  package.max_token_length = row.value("max_token_length", std::size_t{0});
  package.end_of_word_suffix = row.value("suffix", std::string());
  if (row.contains("limit_alphabet")) package.limit_alphabet = row["limit_alphabet"].get<std::size_t>();
  options.vocab_size = row["vocab_size"].get<std::int32_t>();
  options.min_frequency = row["min_frequency"].get<std::uint64_t>();
  options.special_tokens = row["special_tokens"].get<std::vector<std::string>>();
  return options;
}

using NamedMerges = std::vector<std::pair<std::string, std::string>>;

NamedMerges merges_of(const BpeDefinition& definition) {
  NamedMerges merges;
  for (const Merge& merge : definition.merges)
    merges.emplace_back(definition.pieces[static_cast<std::size_t>(merge.left)],
                        definition.pieces[static_cast<std::size_t>(merge.right)]);
  return merges;
}

/// FNV-1a of 64 bits, as the script has it.
std::string fingerprint(const std::string& text) {
  std::uint64_t value = 0xCBF29CE484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return fmt::format("{:016x}", value);
}

std::string vocabulary_text(const BpeDefinition& definition) {
  std::string text;
  for (const std::string& piece : definition.pieces) text += piece + "\n";
  for (const auto& [left, right] : merges_of(definition)) text.append(left).append(" ").append(right).append("\n");
  return text;
}

std::string learning_error(const std::string& text, const LearnOptions& options) {
  return testing::error_of([&] { testing::learn_from(text, options); });
}

// ---- random corpora with runs, ties and odd white space

TEST(ReproduceSubwordNmt, SameCodesOfRandomCorpora) {
  ASSERT_EQ(reproduced_golden()["subword_nmt"].size(), 63U);
  for (const core::Json& row : reproduced_golden()["subword_nmt"]) {
    const auto text = row["text"].get<std::string>();
    EXPECT_EQ(codes_of(testing::learn_from(text, like_subword_nmt(row))), row["codes"].get<std::string>()) << row;
  }
}

TEST(ReproduceTokenizers, SamePiecesAndMergesOfRandomCorpora) {
  ASSERT_EQ(reproduced_golden()["tokenizers"].size(), 60U);
  for (const core::Json& row : reproduced_golden()["tokenizers"]) {
    const BpeTokenizer learned = testing::learn_from(row["text"].get<std::string>(), like_tokenizers(row));
    EXPECT_EQ(learned.definition().pieces, row["pieces"].get<std::vector<std::string>>()) << row;
    EXPECT_EQ(merges_of(learned.definition()), row["merges"].get<NamedMerges>()) << row;
  }
}

// ---- corpora of natural language

const core::Json& corpus_row(const std::string& name) {
  for (const core::Json& row : reproduced_golden()["corpora"])
    if (row["name"] == name) return row;
  throw std::out_of_range(name);
}

void expect_fingerprints(const std::vector<std::filesystem::path>& files, const core::Json& row) {
  EXPECT_EQ(fingerprint(codes_of(learn_bpe(files, like_subword_nmt(row)))), row["codes"].get<std::string>());
  for (const char* words : {"metaspace", "spaces", "whitespace", "byte-level"}) {
    LearnOptions options = like_tokenizers(std::string(words));
    options.vocab_size = row["merges"].get<std::int32_t>();
    EXPECT_EQ(fingerprint(vocabulary_text(learn_bpe(files, options).definition())), row[words].get<std::string>())
        << words;
  }
}

TEST(Reproduce, SameOfOurTestCorpus) {
  expect_fingerprints({testing::golden_file("corpus.txt")}, corpus_row("corpus.txt"));
}

TEST(Reproduce, SameOfMulti30k) {
  DRAGOMAN_NEEDS_DATA("multi30k/train.de.gz");
  const auto folder = testing::data_folder() / "multi30k";
  expect_fingerprints({folder / "train.de.gz", folder / "train.en.gz"}, corpus_row("multi30k"));
}

/// What a command writes to standard output; nothing if it fails.
std::string output_of(const std::string& command) {
  std::string output;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  char buffer[1 << 16];
  while (const std::size_t size = pipe ? std::fread(buffer, 1, sizeof buffer, pipe.get()) : 0)
    output.append(buffer, size);
  return output;
}

TEST(Reproduce, SameOfEvery40thLineOfTheBibleIn46Languages) {
  DRAGOMAN_NEEDS_DATA("bible46/bible46.txt.xz");
  const auto file = testing::data_folder() / "bible46" / "bible46.txt.xz";
  const std::string sample = output_of("xz -dc '" + file.string() + "' 2> /dev/null | awk 'NR % 40 == 1'");
  if (sample.empty()) GTEST_SKIP() << "needs xz to unpack " << file.string();
  const testing::TemporaryFolder folder;
  core::write_file(folder / "sample", sample);
  expect_fingerprints({folder / "sample"}, corpus_row("bible46"));
}

// ---- what is learned can be used

TEST(ReproduceSubwordNmt, CodesAreThoseThatTheOtherGoldenFilesEncodeWith) {
  LearnOptions options;
  options.reproduce = ReproduceSubwordNmt{.merges = 350};
  const BpeTokenizer learned = learn_bpe({testing::golden_file("corpus.txt")}, options);
  EXPECT_EQ(codes_of(learned), core::read_file(testing::golden_file("subword_nmt.codes02")));
  const testing::TemporaryFolder folder;
  learned.save(folder / "tokenizer.json");
  EXPECT_EQ(codes_of(BpeTokenizer::load(folder / "tokenizer.json")), codes_of(learned));
}

TEST(ReproduceSubwordNmt, MergesThatComeUpAgainAreWrittenAgain) {
  for (const core::Json& row : reproduced_golden()["subword_nmt"]) {
    const BpeTokenizer learned = testing::learn_from(row["text"].get<std::string>(), like_subword_nmt(row));
    const std::size_t lines = learned.definition().codes()->lines.size();
    if (lines == 0) continue;
    EXPECT_GT(lines, learned.definition().merges.size());
    return;
  }
  FAIL() << "no reproduced_golden corpus has such merges; make others";
}

TEST(ReproduceTokenizers, SavedVocabulariesComeBackAndKeepTheText) {
  for (const char* words : {"metaspace", "byte-level"}) {
    LearnOptions options = like_tokenizers(std::string(words));
    options.vocab_size = 400;
    const BpeTokenizer learned = learn_bpe({testing::golden_file("corpus.txt")}, options);
    const BpeTokenizer again = BpeTokenizer::parse(learned.to_json(), words);
    const std::string text = "the  river  ";
    EXPECT_EQ(again.encode(text), learned.encode(text));
    EXPECT_EQ(again.decode(again.encode(text)), text);
  }
}

TEST(ReproduceTokenizers, WordsCutAtWhiteSpaceAreEncodedAsThere) {
  const core::Json& row = reproduced_golden()["white_space"][0];
  LearnOptions options = like_tokenizers(std::string("whitespace"));
  options.vocab_size = 300;
  options.special_tokens = {"<unk>"};
  const BpeTokenizer learned = learn_bpe({testing::golden_file("corpus.txt")}, options);
  const BpeTokenizer again = BpeTokenizer::parse(learned.to_json(), "written");
  const BpeTokenizer theirs = BpeTokenizer::parse(row["tokenizer"].get<std::string>(), "theirs");
  EXPECT_EQ(theirs.definition().pieces, learned.definition().pieces);
  EXPECT_EQ(theirs.definition().merges, learned.definition().merges);
  for (const core::Json& line : row["lines"])
    for (const BpeTokenizer* tokenizer : {&learned, &again, &theirs})
      EXPECT_EQ(tokenizer->encode(line["text"].get<std::string>()), line["ids"].get<std::vector<std::int32_t>>())
          << line["text"];
}

/// Made by hand with tokenizers 0.23.3: `b_` that ends a word counts as one character, `b_` that was merged as two, so
/// that (`_b_`, `b_`) would be of four.
TEST(ReproduceTokenizers, ASuffixHasNoLengthButTextThatLooksLikeItHas) {
  std::string text = "b___ b___ _b  aa b b b b b b b bbaa ab\nab\n";
  for (int i = 0; i < 40; ++i) text += " _b_b";
  LearnOptions options;
  options.reproduce = ReproduceTokenizers{.words = Words::kSpaces, .max_token_length = 4, .end_of_word_suffix = "_"};
  options.vocab_size = 60;
  options.min_frequency = 5;
  options.special_tokens = {"<unk>"};
  EXPECT_EQ(testing::learn_from(text, options).definition().pieces,
            (std::vector<std::string>{"<unk>", "_", "a", "b", "__", "a_", "b_", "_b_"}));
}

TEST(ReproduceTokenizers, SuffixesSurviveTheFile) {
  for (const Words words : {Words::kSpaces, Words::kWhiteSpace}) {
    LearnOptions options;
    options.reproduce = ReproduceTokenizers{.words = words, .end_of_word_suffix = "</w>"};
    options.vocab_size = 400;
    const BpeTokenizer learned = learn_bpe({testing::golden_file("corpus.txt")}, options);
    const BpeTokenizer again = BpeTokenizer::parse(learned.to_json(), "written");
    EXPECT_EQ(again.encode("the river goes"), learned.encode("the river goes"));
    EXPECT_EQ(again.decode(again.encode("the river goes")), "the river goes");
    EXPECT_EQ(again.to_json(), learned.to_json());
  }
}

TEST(Reproduce, CountsGiveWhatTheTextGives) {
  const testing::TemporaryFolder folder;
  core::OutputFile counts(folder / "counts");
  const std::vector<std::filesystem::path> corpus = {testing::golden_file("corpus.txt")};
  count_words(corpus, counts, {});
  counts.commit();
  LearnOptions options;
  options.reproduce = ReproduceSubwordNmt{.merges = 200};
  EXPECT_EQ(codes_of(learn_bpe_from_counts({folder / "counts"}, options)), codes_of(learn_bpe(corpus, options)));
  for (const char* words : {"metaspace", "spaces"}) {
    options = like_tokenizers(std::string(words));
    options.vocab_size = 300;
    EXPECT_EQ(learn_bpe_from_counts({folder / "counts"}, options).to_json(), learn_bpe(corpus, options).to_json());
  }
}

TEST(Reproduce, ThreadsDoNotMatter) {
  LearnOptions options = like_tokenizers(std::string("byte-level"));
  options.vocab_size = 400;
  options.threads = 1;
  const std::string alone = learn_bpe({testing::golden_file("corpus.txt")}, options).to_json();
  options.threads = 3;
  EXPECT_EQ(learn_bpe({testing::golden_file("corpus.txt")}, options).to_json(), alone);
}

// ---- refusals

TEST(Reproduce, OptionsThatDoNotFitAreRefused) {
  LearnOptions options;
  options.reproduce = ReproduceSubwordNmt{};
  options.vocab_size = 100;
  EXPECT_THAT(learning_error("a b", options), HasSubstr("subword-nmt is told a number of merges"));
  options = {};
  options.reproduce = ReproduceSubwordNmt{};
  options.user_symbols = {"xy"};
  EXPECT_THAT(learning_error("a b", options), HasSubstr("user-defined symbol"));
  options.user_symbols = {};
  options.min_frequency = 0;
  EXPECT_THAT(learning_error("a b", options), HasSubstr("must be at least 1"));
  options = {};
  options.reproduce = ReproduceTokenizers{.end_of_word_suffix = "</w>"};
  EXPECT_THAT(learning_error("a b", options), HasSubstr("goes with words at spaces"));
  options.reproduce = ReproduceTokenizers{};
  options.special_tokens = {"a"};
  EXPECT_THAT(learning_error("a b", options), HasSubstr("at least two characters"));
}

TEST(Reproduce, ByteLevelWordsCannotComeFromCounts) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "counts", "1\ta\n");
  EXPECT_THAT(testing::error_of(
                  [&] { learn_bpe_from_counts({folder / "counts"}, like_tokenizers(std::string("byte-level"))); }),
              HasSubstr("learn from the text"));
}

TEST(Reproduce, TextThatIsNotUtf8IsRefused) {
  LearnOptions options;
  options.reproduce = ReproduceSubwordNmt{};
  EXPECT_THAT(learning_error("good b\xC3 d", options), HasSubstr("not valid UTF-8 at its byte 1"));
  EXPECT_THAT(learning_error("good b\xC3 d", like_tokenizers(std::string("spaces"))), HasSubstr("not valid UTF-8"));
}

TEST(Reproduce, BytesThatAreNotUtf8CanBeFoundOrReplaced) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "text", "fine\ngood b\xC3 good\n");
  core::write_file(folder / "replaced", "fine\ngood b\xEF\xBF\xBD good\n");
  LearnOptions options;
  options.reproduce = ReproduceSubwordNmt{};
  options.invalid_utf8 = InvalidUtf8::kReplace;
  EXPECT_EQ(learn_bpe({folder / "text"}, options).to_json(), learn_bpe({folder / "replaced"}, options).to_json());
  options.invalid_utf8 = InvalidUtf8::kFail;
  EXPECT_THAT(testing::error_of([&] { learn_bpe({folder / "text"}, options); }),
              AllOf(HasSubstr("text: line 2: "), HasSubstr("offset 11")));
}

TEST(ReproduceTokenizers, PairsThatItCannotCountAreRefused) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "counts", "2000000000\tab\n147483648\tcab\n");
  EXPECT_THAT(
      testing::error_of([&] { learn_bpe_from_counts({folder / "counts"}, like_tokenizers(std::string("spaces"))); }),
      HasSubstr("tokenizers counts in 32 bits"));
}

}  // namespace
}  // namespace dragoman::tokenizer
