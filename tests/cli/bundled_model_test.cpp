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

}  // namespace
}  // namespace dragoman::testing
