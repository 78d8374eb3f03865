#include "program.h"

#include <cstring>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

class EmbedTest : public ::testing::Test {
 protected:
  EmbedTest() {
    std::ofstream(folder_ / "s.de") << "Zwei Hunde spielen im Schnee.\n\nEin Mann schläft.\n";
    std::ofstream(folder_ / "t.en") << "Two dogs play in the snow.\n\nA man is sleeping.\n";
  }
  Outcome embed(const std::string& arguments) const {
    return run_dragoman(folder_.path(),
                        "embed --quiet --model '" + in_source("examples/multi30k/model") + "' " + arguments);
  }
  /// A row for each line, in that order.
  std::vector<std::vector<float>> lines_of(const std::string& arguments, const std::string& key) const {
    const Outcome outcome = embed(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    std::vector<std::vector<float>> rows;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) {
      std::vector<float>& row = rows.emplace_back();
      const core::Json value = core::Json::parse(line)[key];
      for (const core::Json& inner : value)
        if (inner.is_array())
          for (const core::Json& number : inner) row.push_back(number.get<float>());
        else
          row.push_back(inner.get<float>());
    }
    return rows;
  }
  static std::vector<float> floats_of(std::string_view bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }

  TemporaryFolder folder_;
};

std::vector<float> joined(const std::vector<std::vector<float>>& rows) {
  std::vector<float> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

TEST_F(EmbedTest, EveryFormatHoldsTheSameNumbers) {
  for (const std::string& options :
       std::vector<std::string>{"s.de", "s.de --target t.en --pooling max --layer 2", "s.de --layer 0 --threads 2"}) {
    const auto rows = lines_of(options, "embedding");
    ASSERT_EQ(rows.size(), 3U);
    for (const auto& row : rows) EXPECT_EQ(row.size(), 128U);
    EXPECT_EQ(embed(options + " --format npy -o e.npy").status, 0);
    const std::string npy = file_content(folder_ / "e.npy");
    EXPECT_THAT(npy, HasSubstr("'shape': (3, 128)"));
    EXPECT_EQ(floats_of(std::string_view(npy).substr(128)), joined(rows));
    EXPECT_EQ(embed(options + " --format safetensors -o e.safetensors").status, 0);
    const auto file = formats::SafetensorsFile::open(folder_ / "e.safetensors");
    const auto bytes = file.read("embeddings");
    EXPECT_EQ(floats_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), joined(rows));
  }
}

TEST_F(EmbedTest, StatesOfAllTokensSayWhereLinesBegin) {
  const auto rows = lines_of("s.de --pooling none", "states");
  EXPECT_EQ(embed("s.de --pooling none --format safetensors -o s.safetensors").status, 0);
  const auto file = formats::SafetensorsFile::open(folder_ / "s.safetensors");
  const auto bytes = file.read("states");
  EXPECT_EQ(floats_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), joined(rows));
  const auto stored = file.read("offsets");
  std::vector<std::int32_t> offsets(stored.size() / sizeof(std::int32_t));
  std::memcpy(offsets.data(), stored.data(), stored.size());
  ASSERT_EQ(offsets.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(static_cast<std::size_t>(offsets[i + 1] - offsets[i]), rows[i].size() / 128);
  EXPECT_EQ(offsets[2] - offsets[1], 1);  // of the empty line, its end
}

TEST_F(EmbedTest, WhatCannotBeIsRefusedAndNothingIsWritten) {
  EXPECT_THAT(embed("s.de --layer 9").error, HasSubstr("there are no states 9; the model has 0"));
  EXPECT_THAT(embed("s.de --layer x").error, HasSubstr("--layer must be final, all or a number"));
  EXPECT_THAT(embed("s.de --pooling sum").error, HasSubstr("--pooling must be"));
  EXPECT_THAT(embed("s.de --format npy").error, HasSubstr("needs --output"));
  EXPECT_THAT(embed("s.de --format npy --overwrite -o n.npy").error, HasSubstr("are for --format jsonl"));
  EXPECT_THAT(embed("s.de --format npy --pooling none -o n.npy").error, HasSubstr("safetensors or jsonl"));
  EXPECT_THAT(embed("s.de --format npy -o s.de").error, HasSubstr("s.de"));
  std::ofstream(folder_ / "short.en") << "One.\n";
  EXPECT_THAT(embed("s.de --target short.en").error, HasSubstr("short.en ends after 1 lines but s.de goes on"));
  std::ofstream(folder_ / "long.de") << "Ein Mann.\n" << std::string(4000, 'x') << "\n";
  EXPECT_THAT(embed("long.de --format npy -o n.npy").error, HasSubstr("long.de: line 2"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "n.npy"));
  EXPECT_THAT(embed("s.de --format npy -o nowhere/n.npy").error, HasSubstr("there is no folder"));
  EXPECT_THAT(embed("s.de --target ''").error, HasSubstr("--target"));
  // Or as much of it as the model takes.
  const auto cut = lines_of("long.de --pooling none --long-lines cut", "states");
  ASSERT_EQ(cut.size(), 2U);
  EXPECT_EQ(cut[1].size(), 256U * 128);
  EXPECT_EQ(embed("s.de --long-lines maybe").status, 2);
  EXPECT_THAT(file_content(folder_ / "s.de"), HasSubstr("Zwei Hunde"));
}

TEST_F(EmbedTest, AttentionOfTheProgramIsWrittenByLine) {
  const std::string model = " --quiet --model '" + in_source("examples/multi30k/model") + "' ";
  const Outcome translated = run_dragoman(
      folder_.path(), "translate" + model + "s.de --attention cross --attention-svg pictures --attention-npy arrays");
  EXPECT_EQ(translated.status, 0) << translated.error;
  EXPECT_THAT(file_content(folder_ / "pictures/1.svg"), HasSubstr("layer 3, head 3"));
  EXPECT_THAT(file_content(folder_ / "arrays/3.npy"), HasSubstr("'shape': (4, 4, "));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "arrays/2.npy"));  // an empty line
  EXPECT_EQ(run_dragoman(folder_.path(), "score" + model + "s.de t.en --attention cross --attention-npy scored").status,
            0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "scored/2.npy"));  // its end alone
  for (const std::string& command : {"translate" + model + "s.de", "score" + model + "s.de t.en"}) {
    EXPECT_EQ(run_dragoman(folder_.path(), command + " --attention cross").status, 2);
    EXPECT_THAT(run_dragoman(folder_.path(), command + " --attention-mean").error,
                HasSubstr("--attention-mean: needs attention"));
    EXPECT_THAT(run_dragoman(folder_.path(), command + " --attention cross --attention-heads 4 --format jsonl").error,
                HasSubstr("no attention head 4; layers have 4"));
    EXPECT_THAT(run_dragoman(folder_.path(), command + " --attention cross --attention-svg s.de").error,
                HasSubstr("s.de"));
  }
  // A folder that holds something may hold anything.
  std::ofstream(folder_ / "pictures/mine.txt") << "mine";
  for (const std::string& command : {"translate" + model + "s.de", "score" + model + "s.de t.en"})
    EXPECT_THAT(run_dragoman(folder_.path(), command + " --attention cross --attention-svg pictures").error,
                HasSubstr("pictures: pictures and arrays of attention go into a folder of their own"));
  EXPECT_EQ(run_dragoman(folder_.path(),
                         "translate" + model + "s.de -o o.en --overwrite --attention cross --attention-svg pictures")
                .status,
            0);
  EXPECT_EQ(file_content(folder_ / "pictures/mine.txt"), "mine");
  EXPECT_THAT(
      run_dragoman(folder_.path(), "embed --model '" + in_source("examples/multi30k/model") + "' s.de --device auto")
          .error,
      HasSubstr("device cpu"));
}

TEST_F(EmbedTest, WhatComputeAutoIsStandsInTheLog) {
  std::ofstream(folder_ / "s.de") << "Ein Hund.\n";
  std::ofstream(folder_ / "t.en") << "A dog.\n";
  const std::string model = " --model '" + in_source("examples/multi30k/model") + "' --compute auto ";
  EXPECT_THAT(run_dragoman(folder_.path(), "score" + model + "s.de t.en").error,
              ::testing::ContainsRegex("compute (int8|fp32).*, unless the model specifies a type"));
  // `translate` tells it only if it differs from the stored type.
  const bool rounds = run_dragoman(folder_.path(), "doctor").output.find("auto (int8") != std::string::npos;
  EXPECT_EQ(run_dragoman(folder_.path(), "translate" + model + "s.de").error.find("compute int8") != std::string::npos,
            rounds);
}

}  // namespace
}  // namespace dragoman::testing
