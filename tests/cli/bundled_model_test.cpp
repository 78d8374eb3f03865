#include "program.h"

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
      "translate --quiet --model '" DRAGOMAN_SOURCE_DIR "/examples/multi30k/model' source.de --decoder greedy";
  for (const char* options : {"", " --compute fp32", " --device reference"}) {
    const Outcome outcome = run_dragoman(folder.path(), translate + options);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_EQ(outcome.output, expected) << options;
  }
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
  const std::string model = "'" DRAGOMAN_SOURCE_DIR "/examples/multi30k/model'";
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
       {std::pair{"source.de --glossary terms.tsv --decoder greedy", "needs a beam search of at least 2"},
        {"source.de --constraints dogs --beam-size 1", "needs a beam search of at least 2"},
        {"source.de --glossary bad.tsv", "bad.tsv: line 1: has 1 columns"},
        {"source.de --beam-groups 3", "beam_groups is 3; it must be a divisor of beam_size"},
        {"source.de --target-prefix-file terms.tsv.absent", "terms.tsv.absent"}}) {
    const Outcome outcome = translate(options);
    EXPECT_NE(outcome.status, 0) << options;
    EXPECT_NE(outcome.error.find(message), std::string::npos) << outcome.error;
  }
}

}  // namespace
}  // namespace dragoman::testing
