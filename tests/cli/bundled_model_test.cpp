#include "program.h"

#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

/// The model that comes with the source: what it makes of the sentence that everybody tries first, and of five more.
/// The literature's own translation of the first is "Two young, White males are outside near many bushes."
TEST(BundledModel, TranslatesASentenceThatEverybodyCanCheck) {
  const TemporaryFolder folder;
  std::ofstream(folder / "source.de") << "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.\n"
                                         "Zwei Hunde spielen im Schnee.\n"
                                         "Eine Frau in einem roten Kleid liest ein Buch.\n"
                                         "Ein kleiner Junge springt in einen See.\n"
                                         "Drei Kinder sitzen auf einer Bank und essen Eis.\n"
                                         "Ein Mann mit Hut fährt auf einem Fahrrad durch die Stadt.\n";
  const std::string expected =
      "Two young white men are outside near many bushes.\n"
      "Two dogs play in the snow.\n"
      "A woman in a red dress is reading a book.\n"
      "A little boy jumps into a lake.\n"
      "Three children are sitting on a bench eating ice cream.\n"
      "A man in a hat is riding a bicycle through the city.\n";
  const std::string translate =
      "translate --quiet --model '" + in_source("examples/multi30k/model") + "' source.de --decoder greedy";
  for (const char* options : {" --compute stored", " --compute fp32", " --device reference"}) {
    const Outcome outcome = run_dragoman(folder.path(), translate + options);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_EQ(outcome.output, expected) << options;
  }
}

/// The translation is the same, and each kind of kernel has a line, by descending time.
TEST(BundledModel, KernelTimesAreLoggedBesideTheSameTranslation) {
  const TemporaryFolder folder;
  std::ofstream(folder / "source.de") << "Zwei Hunde spielen im Schnee.\n";
  const std::string translate =
      "translate --compute fp32 --model '" + in_source("examples/multi30k/model") + "' source.de ";
  const Outcome plain = run_dragoman(folder.path(), translate);
  const Outcome timed = run_dragoman(folder.path(), translate + "--kernel-times");
  EXPECT_EQ(timed.status, 0) << timed.error;
  EXPECT_EQ(timed.output, plain.output);
  EXPECT_EQ(plain.error.find("launches"), std::string::npos) << plain.error;
  for (const char* kernel : {"cached_attention", "project_top_k \\[4000, 128\\] fp32", "linear \\[384, 128\\] fp32"})
    EXPECT_THAT(timed.error,
                ::testing::ContainsRegex("kernel +[0-9.]+ % +[0-9.]+ ms +[0-9]+ launches +[0-9.]+ G/s +[0-9.]+ GB/s  " +
                                         std::string(kernel) + "\n"));
}

/// A stream is the same bytes, and comes in more than one piece a line: the pipe's reader sees words before their line
/// is done.
TEST(BundledModel, StreamsWordsOfALineBeforeItsEnd) {
  const TemporaryFolder folder;
  std::ofstream(folder / "source.de") << "Zwei Hunde spielen im Schnee.\n\n"
                                         "Eine Frau in einem roten Kleid liest ein Buch.\n"
                                         "Ein Mann mit Hut fährt auf einem Fahrrad durch die Stadt.\n";
  const std::string translate = "translate --quiet --model '" + in_source("examples/multi30k/model") + "' source.de ";
  for (const char* search : {"--decoder greedy", "--beam-size 4", "--decoder sampling", "--decoder mbr --mbr-samples 3",
                             "--beam-size 4 --split de --threads 2"}) {
    const Outcome whole = run_dragoman(folder.path(), translate + search);
    const Outcome streamed = run_dragoman(folder.path(), translate + search + " --stream");
    EXPECT_EQ(streamed.status, 0) << streamed.error;
    EXPECT_EQ(streamed.output, whole.output) << search;
  }
  // A line so long that whoever is slow to read sees some of it, too.
  std::ofstream long_line(folder / "long.de");
  for (int i = 0; i < 400; ++i) long_line << (i > 0 ? " " : "") << "Zwei Hunde spielen im Schnee.";
  long_line << '\n';
  long_line.close();
  std::ofstream(folder / "pieces.py") << R"(
import os, subprocess, sys
program = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
pieces = 0
begun = False
while data := os.read(program.stdout.fileno(), 1 << 16):
    pieces += 1
    begun = begun or not data.endswith(b'\n')
print(pieces, begun, program.wait())
)";
  const std::string command = "cd '" + folder.path().string() + "' && python3 pieces.py '" + built("program") + "' " +
                              translate + "long.de --split de --threads 1 --decoder greedy --stream > pieces.txt";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string pieces = file_content(folder / "pieces.txt");
  EXPECT_TRUE(pieces.ends_with(" True 0\n")) << pieces;
  const Outcome wrong = run_dragoman(folder.path(), translate + "--stream --format jsonl");
  EXPECT_NE(wrong.status, 0);
  EXPECT_NE(wrong.error.find("--stream shows text on standard output"), std::string::npos) << wrong.error;
}

TEST(BundledModel, ShardsOfSeveralInputsAreTheirWhole) {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.de") << "Zwei Hunde spielen im Schnee.\nEine Frau liest ein Buch.\n\n";
  std::ofstream(folder / "b.de") << "Ein kleiner Junge springt in einen See.\nDrei Kinder essen Eis.";
  const std::string translate = "translate --quiet --model '" + in_source("examples/multi30k/model") +
                                "' --decoder sampling --format jsonl '*.de'";
  const Outcome whole = run_dragoman(folder.path(), translate);
  EXPECT_EQ(std::count(whole.output.begin(), whole.output.end(), '\n'), 5) << whole.error;
  EXPECT_EQ(run_dragoman(folder.path(), translate + " --input a.de").status, 0) << "a file may be read twice";
  std::string joined;
  for (const char* shard : {"1/3", "2/3", "3/3"})
    joined += run_dragoman(folder.path(), translate + " --shard " + shard).output;
  EXPECT_EQ(joined, whole.output);
  const Outcome piped = run_dragoman(
      folder.path(), "translate --model '" + in_source("examples/multi30k/model") + "' --shard 1/2 < a.de");
  EXPECT_NE(piped.status, 0);
  EXPECT_NE(piped.error.find("standard input: is no file that could be read twice"), std::string::npos) << piped.error;
  const Outcome wrong = run_dragoman(folder.path(), translate + " --shard 4/3");
  EXPECT_NE(wrong.status, 0);
  EXPECT_NE(wrong.error.find("--shard '4/3': must be I/N"), std::string::npos) << wrong.error;
}

/// Options of the command line, of a pipeline and of a line say the same.
TEST(BundledModel, WritesWhatItMust) {
  const TemporaryFolder folder;
  std::ofstream(folder / "source.de") << "Zwei Hunde spielen im Schnee.\nEin Mann fährt auf einem Fahrrad.\n";
  std::ofstream(folder / "prefixes.en") << "Some dogs\n\n";
  std::ofstream(folder / "terms.tsv") << "Hunde\tpuppies\nFahrrad\ttricycle\n";
  std::ofstream(folder / "bad.tsv") << "Hunde\n";
  std::ofstream(folder / "lines.jsonl")
      << R"({"source": "Zwei Hunde spielen im Schnee.", "constraints": ["puppies"]})"
      << "\n"
      << R"({"source": "Ein Mann fährt auf einem Fahrrad.", "constraints": [{"source": "fahrrad", "target": "tricycle"}]})"
      << "\n";
  const std::string model = "'" + in_source("examples/multi30k/model") + "'";
  std::ofstream(folder / "job.yml") << "stages:\n- read: {path: source.de}\n- translate: {model: " << model
                                    << ", glossary: terms.tsv}\n- write: {path: '-'}\n";
  const auto translate = [&](const std::string& options) {
    return run_dragoman(folder.path(), "translate --quiet --model " + model + " " + options);
  };
  const Outcome prefixed = translate("source.de --target-prefix-file prefixes.en");
  EXPECT_EQ(prefixed.status, 0) << prefixed.error;
  EXPECT_EQ(prefixed.output.rfind("Some dogs", 0), 0U) << prefixed.output;
  EXPECT_EQ(translate("source.de --target-prefix 'Some dogs'").output.substr(0, prefixed.output.find('\n')),
            prefixed.output.substr(0, prefixed.output.find('\n')));

  const Outcome terms = translate("source.de --glossary terms.tsv");
  EXPECT_EQ(terms.status, 0) << terms.error;
  const std::size_t second = terms.output.find('\n');
  EXPECT_LT(terms.output.find("puppies"), second) << terms.output;
  EXPECT_GT(terms.output.find("tricycle"), second) << terms.output;
  EXPECT_NE(terms.output.find("tricycle"), std::string::npos);
  EXPECT_EQ(translate("lines.jsonl --input-format jsonl").output, terms.output);
  EXPECT_EQ(run_dragoman(folder.path(), "run --quiet job.yml").output, terms.output);

  const Outcome suppressed = translate("source.de --suppress dogs --suppress 'riding a'");
  EXPECT_EQ(suppressed.output.find("dogs"), std::string::npos) << suppressed.output;

  const Outcome groups =
      translate("source.de --beam-size 4 --beam-groups 4 --diversity-strength 2 --n-best 4 --format jsonl");
  EXPECT_EQ(groups.status, 0) << groups.error;
  EXPECT_NE(groups.output.find("\"n_best\""), std::string::npos);

  for (const auto& [options, message] :
       {std::pair{"source.de --glossary terms.tsv --decoder greedy",
                  "dragoman: --glossary: needs a beam search of at least 2"},
        {"source.de --constraints dogs --beam-size 1", "dragoman: --constraints: needs a beam search of at least 2"},
        {"source.de --glossary bad.tsv", "bad.tsv: line 1: has 1 columns"},
        {"source.de --beam-groups 3", "dragoman: --beam-groups is 3; it must be a divisor of --beam-size"},
        {"source.de --target-prefix-file terms.tsv.absent", "terms.tsv.absent"},
        {"source.de --decoder greedy --beam-size 3", "dragoman: --beam-size: only beam search looks at it"},
        {"source.de --minimum-length 9 --maximum-length 3",
         "dragoman: --minimum-length is 9; it must be at most --maximum-length"},
        {"source.de --decoder mbr --mbr-samples 2 --n-best 3 --format jsonl",
         "dragoman: --n-best is 3, but there are 2 candidates to choose from; raise --mbr-samples"},
        {"source.de --mbr-utility bleu", "dragoman: --mbr-utility: only the decoder mbr looks at it"},
        {"source.de --suppress-tokens 999999", "dragoman: --suppress-tokens holds 999999; it must hold ids from 0"},
        {"source.de --target-language en", "dragoman: --target-language: the model has no language 'en'"},
        {"source.de --shortlist-first 3", "dragoman: --shortlist-first: needs a --shortlist"}}) {
    const Outcome outcome = translate(options);
    EXPECT_NE(outcome.status, 0) << options;
    EXPECT_NE(outcome.error.find(message), std::string::npos) << outcome.error;
  }
}

}  // namespace
}  // namespace dragoman::testing
