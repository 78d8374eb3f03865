#include "program.h"

#include <algorithm>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

class VocabularyCommandsTest : public ::testing::Test {
 protected:
  VocabularyCommandsTest() {
    write("text.txt", "abc abd abc abd abe abc\n");
    EXPECT_EQ(run("learn-bpe --input text.txt --vocab-size 269 --output t.json").status, 0);
  }
  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  Outcome run(const std::string& arguments) { return run_dragoman(folder_.path(), arguments); }
  std::string content(const std::string& name) { return file_content(folder_ / name); }
  std::size_t mapped_to_nothing(const std::string& name) {
    const std::string map = content(name);
    return static_cast<std::size_t>(std::count(map.begin(), map.end(), '-'));
  }

  TemporaryFolder folder_;
};

TEST_F(VocabularyCommandsTest, EditsSayWhichIdsBecomeWhich) {
  ASSERT_EQ(run("vocab truncate t.json --size 266 --output small.json --map map.tsv").status, 0);
  ASSERT_EQ(run("learn-bpe --input text.txt --vocab-size 266 --output alone.json").status, 0);
  EXPECT_EQ(content("small.json"), content("alone.json"));
  EXPECT_EQ(mapped_to_nothing("map.tsv"), 3U);
  EXPECT_THAT(content("map.tsv"), HasSubstr("\n265\t265\n266\t-\n"));

  write("other.txt", "abd\n");
  ASSERT_EQ(run("vocab prune t.json --corpus other.txt --output pruned.json --map map.tsv").status, 0);
  EXPECT_GT(mapped_to_nothing("map.tsv"), 0U);
  EXPECT_EQ(run("verify t.json pruned.json other.txt").output, "0 of 1 lines differ\n");

  write("symbols.txt", "<ph>\r\n\n<tag>\n");
  ASSERT_EQ(
      run("vocab extend t.json --special '<2de>' --user-symbols-file symbols.txt -o more.json --map map.tsv").status,
      0);
  EXPECT_EQ(mapped_to_nothing("map.tsv"), 0U);
  write("tagged.txt", "abc<ph>abd\n");
  EXPECT_THAT(run("encode -t more.json -i tagged.txt").output, HasSubstr(" <ph> "));

  ASSERT_EQ(run("vocab merge small.json t.json --output both.json").status, 0);
  EXPECT_EQ(content("both.json"), content("t.json"));
}

/// As a training of the library tokenizers with BPE-dropout saves it.
TEST_F(VocabularyCommandsTest, AStoredDropoutIsIgnoredWithAWarning) {
  core::Json file = core::Json::parse(content("t.json"));
  file["model"]["dropout"] = 0.5;
  write("drawn.json", file.dump());
  const std::string warning = "drawn.json.model.dropout: 0.5 is ignored";
  for (const std::string command :
       {"encode -t drawn.json text.txt", "verify drawn.json t.json text.txt", "inspect drawn.json --corpus text.txt",
        "vocab truncate drawn.json --size 266 --output out.json", "convert drawn.json --output out.json",
        "prepare text.txt text.txt --unit pieces --tokenizer drawn.json"}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 0) << command << ": " << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr(warning)) << command;
  }
  EXPECT_EQ(run("encode -q -t drawn.json text.txt").output, run("encode -q -t t.json text.txt").output);
}

TEST_F(VocabularyCommandsTest, WrongUsageSaysWhatIsMissing) {
  for (const auto& [arguments, part] : {std::pair("vocab prun t.json -o x", "truncate, prune, extend or merge"),
                                        {"vocab merge t.json -o x", "takes 2 tokenizer files, not 1"},
                                        {"vocab truncate t.json -o x", "--size"},
                                        {"vocab prune t.json -o x", "--corpus"},
                                        {"vocab extend t.json -o x", "--special"},
                                        {"inspect . --corpus text.txt", "none of what can be inspected"},
                                        {"encode -t t.json --invalid-utf8 drop", "keep, replace or fail"},
                                        {"learn-bpe --counts c -o x --invalid-utf8 fail", "--input"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_NE(outcome.status, 0) << arguments;
    EXPECT_THAT(outcome.error, HasSubstr(part)) << arguments;
  }
  write("symbols.txt", "<ph>\n\xE9\n");
  EXPECT_THAT(run("vocab extend t.json --user-symbols-file symbols.txt -o x").error, HasSubstr("symbols.txt: line 2"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

TEST_F(VocabularyCommandsTest, ExtendingWithTheSameCorpusIsLearningMore) {
  ASSERT_EQ(run("vocab truncate t.json --size 266 --output small.json").status, 0);
  ASSERT_EQ(run("vocab extend small.json --corpus text.txt --size 269 --output more.json --map map.tsv").status, 0);
  EXPECT_EQ(content("more.json"), content("t.json"));
  EXPECT_THAT(content("map.tsv"), HasSubstr("\n265\t265\n"));
  write("other.txt", "xabd xabd xabd <2de>\n");
  const std::string command = "vocab extend t.json --corpus other.txt --special '<2de>' --size ";
  const Outcome outcome = run(command + "277 --output tagged.json --threads 2");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(run("encode -t tagged.json -i other.txt").output, HasSubstr("xabd"));
  const Outcome bytes = run(command + "271 --output bytes.json --character-coverage 0.5");
  EXPECT_EQ(bytes.status, 0) << bytes.error;
  EXPECT_THAT(run("encode -t bytes.json -i other.txt").output, HasSubstr("<0x78> abd"))
      << "there is no piece for x, so no merge reaches over it";
  for (const auto& [arguments, part] :
       {std::pair("vocab extend t.json --corpus text.txt -o x", "--size"),
        {"vocab extend t.json --corpus text.txt --size 269 -o x", "269 pieces already"},
        {"vocab extend t.json --corpus text.txt --size 300 --character-coverage most -o x", "above 0"},
        {"vocab extend t.json --corpus missing.txt --size 300 -o x", "missing.txt"},
        {"vocab extend t.json --corpus text.txt --size 300 --invalid-utf8 drop -o x", "keep, replace or fail"}}) {
    const Outcome refused = run(arguments);
    EXPECT_NE(refused.status, 0) << arguments;
    EXPECT_THAT(refused.error, HasSubstr(part)) << arguments;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

TEST_F(VocabularyCommandsTest, AMapIsNotWrittenOverATokenizer) {
  const std::string before = run("inspect t.json --json").output;
  for (const char* files : {"-o new.json --map new.json", "-o new.json --map t.json", "-o new.json --map ./t.json"}) {
    const Outcome refused = run(std::string("vocab truncate t.json --size 265 ") + files);
    EXPECT_EQ(refused.status, 2) << files;
    EXPECT_THAT(refused.error, HasSubstr("--map")) << files;
  }
  EXPECT_EQ(run("inspect t.json --json").output, before);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new.json"));
}

TEST_F(VocabularyCommandsTest, AnOutputThatIsTheInputIsRefused) {
  const Outcome encode = run("encode -t t.json -i text.txt -o ./text.txt");
  EXPECT_EQ(encode.status, 2);
  EXPECT_THAT(encode.error, HasSubstr("is the input"));
  EXPECT_EQ(run("decode -t t.json text.txt -o text.txt").status, 2);
  EXPECT_EQ(run("encode -t t.json text.txt --dropout 0.1").status, 2) << "without --mode dropout";
  EXPECT_THAT(run("learn-bpe -i text.txt --vocab-size 300 -o missing/x.json").error, HasSubstr("no folder missing"));
}

TEST_F(VocabularyCommandsTest, InspectMeasuresACorpusAsTextAndAsJson) {
  const Outcome text = run("inspect t.json --corpus text.txt");
  EXPECT_EQ(text.status, 0) << text.error;
  EXPECT_THAT(text.output, HasSubstr("1 lines, 6 words, 23 characters"));
  const core::Json report = core::parse_json(run("inspect t.json --corpus text.txt text.txt --json").output, "report");
  EXPECT_EQ(report["pieces"], 269);
  EXPECT_EQ(report["corpus"]["lines"], 2);
  EXPECT_EQ(report["corpus"]["words"], 12);
  EXPECT_EQ(report["corpus"]["pieces_per_line"]["max"].get<double>() * 2, report["corpus"]["pieces"].get<double>());
}

TEST_F(VocabularyCommandsTest, InvalidUtf8IsKeptReplacedOrRefused) {
  write("latin1.txt", "abc\nab\xE9\n");
  EXPECT_THAT(run("encode -t t.json -i latin1.txt").output, HasSubstr("<0xE9>"));
  EXPECT_THAT(run("encode -t t.json -i latin1.txt --invalid-utf8 replace").output, HasSubstr("<0xEF> <0xBF> <0xBD>"));
  for (const std::string command : {"encode -t t.json -i", "count-words", "learn-bpe -o x --vocab-size 300 -i"}) {
    const Outcome refused = run(command + " latin1.txt --invalid-utf8 fail");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.error, HasSubstr("latin1.txt: line 2: the byte 0xE9 at offset 6")) << command;
  }
}

TEST_F(VocabularyCommandsTest, EncodeAddsWhatThePostProcessorAddsAndWritesOffsets) {
  write("line.txt", "low\n");
  const auto golden = [](const char* name) {
    return " -t '" + (testing::source_folder() / "tests/tokenizer/golden" / name).string() + "' ";
  };
  Outcome outcome = run("encode" + golden("sentencepiece_plain.model") + "--add-special line.txt");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, HasSubstr("has no post-processor, which only a tokenizer.json may have"));
  EXPECT_EQ(run("encode" + golden("sentencepiece_plain.model") + "--add-special --add-eos line.txt").status, 2);
  outcome = run("encode" + golden("sentencepiece_plain.model") + "--format json line.txt");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.output, HasSubstr("\"offsets\":[["));
  EXPECT_EQ(run("decode" + golden("sentencepiece_plain.model") + "--format json line.txt").status, 2);
}

}  // namespace
}  // namespace dragoman::testing
