// translate, with lines of pieces in and out.
#include "program.h"

#include <gmock/gmock.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPiecesModel = in_source("examples/multi30k/model");

class Pieces : public ::testing::Test {
 protected:
  Pieces() {
    std::ofstream(folder_ / "s.de") << "Zwei Hunde spielen im Schnee.\n\nEin Mann mit Hut f\u00E4hrt Fahrrad \u4F60.\n"
                                       "Drei Kinder essen  Eis.\nEine Frau liest ein Buch.\n";
    run("encode --quiet --tokenizer '" + kPiecesModel + "/tokenizer.json' s.de --output s.pieces");
  }
  Outcome run(const std::string& arguments) { return run_dragoman(folder_.path(), arguments); }
  Outcome translate(const std::string& arguments) {
    return run("translate --quiet --model '" + kPiecesModel + "' --decoder greedy " + arguments);
  }
  /// The text of lines of pieces.
  std::string decoded(const std::string& pieces) {
    std::ofstream(folder_ / "out.pieces") << pieces;
    return run("decode --quiet --tokenizer '" + kPiecesModel + "/tokenizer.json' out.pieces").output;
  }

  const TemporaryFolder folder_;
  const std::string both_ = "s.pieces --input-pieces --output-pieces ";
};

TEST_F(Pieces, TranslateAsTheirText) {
  const Outcome text = translate("s.de");
  EXPECT_THAT(text.output, HasSubstr("Two dogs play in the snow.\n\n")) << text.error;
  const Outcome pieces = translate(both_);
  EXPECT_EQ(pieces.status, 0) << pieces.error;
  EXPECT_THAT(pieces.output, HasSubstr("\u2581Two \u2581dogs"));
  EXPECT_EQ(decoded(pieces.output), text.output);
  EXPECT_EQ(translate("s.pieces --input-pieces").output, text.output);
  EXPECT_EQ(decoded(translate("s.de --output-pieces --split de").output), translate("s.de --split de").output);
  EXPECT_EQ(translate(both_ + "--stream").output, pieces.output);
  std::string shards;
  for (const char* shard : {"1/2", "2/2"}) shards += translate(both_ + "--shard " + shard).output;
  EXPECT_EQ(shards, pieces.output);
}

TEST_F(Pieces, StandInJsonLinesColumnsAndPipelines) {
  const std::string expected = translate(both_).output;
  std::istringstream lines(file_content(folder_ / "s.pieces"));
  std::ofstream json(folder_ / "s.jsonl"), columns(folder_ / "s.tsv");
  for (std::string line; std::getline(lines, line);) {
    json << core::Json{{"source", line}} << '\n';
    columns << "x\t" << line << '\n';
  }
  json.close();
  columns.close();
  EXPECT_EQ(translate("s.jsonl --input-format jsonl --input-pieces --output-pieces").output, expected);
  EXPECT_EQ(translate("s.tsv --input-format tsv --input-column 2 --input-pieces --output-pieces").output, expected);
  std::ofstream(folder_ / "job.yml") << "stages:\n- read: {path: s.de}\n- encode: {tokenizer: '" << kPiecesModel
                                     << "/tokenizer.json'}\n- translate: {model: '" << kPiecesModel
                                     << "', decoder: greedy, input-pieces: true, output-pieces: true}\n"
                                     << "- decode: {tokenizer: '" << kPiecesModel << "/tokenizer.json'}\n- write: {}\n";
  EXPECT_EQ(run("run --quiet job.yml").output, translate("s.de").output);
  std::istringstream details(translate("s.de --output-pieces --format jsonl").output);
  std::string shown;
  for (std::string line; std::getline(details, line);)
    shown += core::Json::parse(line)["text"].get<std::string>() + "\n";
  EXPECT_EQ(shown, expected);
}

TEST_F(Pieces, AreResumed) {
  const std::string end = core::Json{{"source", "\u2581Ein \u2581Mann"}}.dump() + "\n";
  std::ofstream file(folder_ / "s.jsonl");
  std::istringstream lines(file_content(folder_ / "s.pieces"));
  for (std::string line; std::getline(lines, line);) file << core::Json{{"source", line}} << '\n';
  file << "no JSON\n" << end;
  file.close();
  const std::string job = "s.jsonl --input-format jsonl --input-pieces --output out ";
  ASSERT_EQ(translate(job + "--output-pieces --on-error fail").status, 1);
  const std::string partial = file_content(folder_ / "out.partial");
  ASSERT_FALSE(partial.empty());
  EXPECT_THAT(translate(job + "--resume").error, HasSubstr("translate.output_pieces was true and is now false"));
  const Outcome resumed = translate(job + "--output-pieces --resume");
  EXPECT_EQ(resumed.status, 0) << resumed.error;
  EXPECT_TRUE(file_content(folder_ / "out").starts_with(partial));
  EXPECT_EQ(file_content(folder_ / "out"),
            translate("s.jsonl --input-format jsonl --input-pieces --output-pieces").output);
}

TEST_F(Pieces, LinesOfTextByMistakeAreTold) {
  const Outcome outcome = run("translate --model '" + kPiecesModel + "' --decoder greedy s.de --input-pieces");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("4 lines held pieces that the model's vocabulary lacks (read as unknown)"));
  EXPECT_THAT(run("translate --model '" + kPiecesModel + "' --decoder greedy " + both_).error, Not(HasSubstr("lacks")));
}

TEST_F(Pieces, WhatNeedsTextIsRefusedAtOnce) {
  for (const auto& [options, message] :
       {std::pair{"--input-pieces --split de",
                  "dragoman: --input-pieces: --split finds sentences in text and not in pieces"},
        {"--input-pieces --replace-unknown",
         "dragoman: --replace-unknown: puts words of the source into the text of the translation, but the source is "
         "given as pieces; leave it or --input-pieces out"},
        {"--output-pieces --replace-unknown", "the translation is written as pieces"},
        {"--input-format pieces",
         "--input-format 'pieces': must be one of: text, jsonl, tsv; pieces are read with --input-pieces of translate"},
        {"--output-format pieces", "did you mean '--format' or '--output-pieces'?"},
        {"--format pieces", "--format must be text or jsonl; --output-pieces writes pieces"},
        {"--no-spm-encode", "did you mean '--input-pieces'?"}}) {
    const Outcome outcome = translate(std::string("s.pieces ") + options);
    EXPECT_NE(outcome.status, 0) << options;
    EXPECT_THAT(outcome.error, HasSubstr(message));
  }
}

}  // namespace
}  // namespace dragoman::testing
