#include "error_message.h"
#include "tiny_model.h"

#include <cstring>
#include <fstream>

#include <gmock/gmock.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::pipeline {
namespace {

using dragoman::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class EnsembleTranslation : public ::testing::Test {
 protected:
  EnsembleTranslation() {
    // The same tokenizer and other weights.
    std::filesystem::copy(model_.path(), other());
    for (const char* tensor : {"encoder", "decoder"}) change_first_value_of(other() / "model.safetensors", tensor);
    std::filesystem::remove(other() / "SHA256SUMS");
  }
  std::filesystem::path other() const { return model_.file("other"); }

  static void change_first_value_of(const std::filesystem::path& file, const std::string& prefix) {
    std::string bytes = dragoman::testing::read_text(file);
    std::uint64_t size = 0;
    bytes.copy(reinterpret_cast<char*>(&size), sizeof size);
    const core::Json header = core::Json::parse(bytes.substr(sizeof size, size));
    for (const auto& [name, tensor] : header.items()) {
      if (!name.starts_with(prefix)) continue;
      const std::size_t place = sizeof size + size + tensor["data_offsets"][0].get<std::size_t>();
      const std::size_t end = sizeof size + size + tensor["data_offsets"][1].get<std::size_t>();
      for (std::size_t i = place; i + 4 <= end; i += 12) {
        float value = 0;
        std::memcpy(&value, bytes.data() + i, sizeof value);
        value = value * -0.5F + 0.05F;
        std::memcpy(bytes.data() + i, &value, sizeof value);
      }
    }
    std::ofstream(file, std::ios::binary) << bytes;
  }

  std::vector<Record> translate(const std::filesystem::path& model, const TranslateOptions& options,
                                const EnsembleOptions& ensemble = {}, int threads = 1) {
    std::vector<Record> records(6);
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i].line = i + 1;
      records[i].text = i % 2 == 0 ? "the cat sat on the mat" : "ein Hund und eine Katze";
    }
    return Translator(Model(model, host_, {.threads = threads}, ensemble), options).translate(std::move(records));
  }

  dragoman::testing::TinyModel model_;
  plugins::Host host_;
};

TEST_F(EnsembleTranslation, IsSomethingOfItsOwnWhateverTheThreadsAndTheOrderOfItsModels) {
  TranslateOptions options{.details = true};
  const auto first = translate(model_.path(), options);
  const auto second = translate(other(), options);
  ASSERT_NE(first[0].fields["score"], second[0].fields["score"]);
  const auto both = translate(model_.path(), options, {.models = {other().string()}});
  EXPECT_NE(both[0].fields["score"], first[0].fields["score"]);
  EXPECT_NE(both[0].fields["score"], second[0].fields["score"]);
  const auto threaded = translate(model_.path(), options, {.models = {other().string()}}, 3);
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_EQ(both[i].fields, threaded[i].fields);
  const auto turned = translate(other(), options, {.models = {model_.path().string()}});
  for (std::size_t i = 0; i < both.size(); ++i) {
    EXPECT_EQ(both[i].text, turned[i].text);
    EXPECT_NEAR(both[i].fields["score"].get<double>(), turned[i].fields["score"].get<double>(), 1e-9);
  }
}

TEST_F(EnsembleTranslation, AWeightOfNearlyNothingIsNearlyNotThere) {
  TranslateOptions options{.details = true};
  const auto second = translate(other(), options);
  for (const auto mean : {decoding::EnsembleMean::kProbability, decoding::EnsembleMean::kLogProbability}) {
    const auto both =
        translate(model_.path(), options, {.models = {other().string()}, .weights = {1e-12, 1}, .mean = mean});
    for (std::size_t i = 0; i < both.size(); ++i) {
      EXPECT_EQ(both[i].text, second[i].text);
      EXPECT_NEAR(both[i].fields["score"].get<double>(), second[i].fields["score"].get<double>(), 1e-4);
    }
  }
}

TEST_F(EnsembleTranslation, WorksWithEverySearch) {
  TranslateOptions options{.details = true};
  for (const char* strategy : {"greedy", "beam", "sampling", "mbr"}) {
    options.search.decoder = strategy;
    options.search.mbr_samples = 4;
    for (const Record& record : translate(model_.path(), options, {.models = {other().string()}}, 2))
      EXPECT_FALSE(record.failed()) << strategy;
  }
}

TEST_F(EnsembleTranslation, APipelineSaysWhatIsWrong) {
  const auto error = [&](const std::string& options) {
    return error_of([&] {
      make_pipeline(core::parse_yaml("stages: [{read: {path: x}}, {translate: {model: " + model_.path().string() +
                                         ", " + options + "}}, {write: {path: y, format: jsonl}}]",
                                     "test"),
                    "test", host_, 1);
    });
  };
  const std::string two = "ensemble: [" + other().string() + "]";
  EXPECT_EQ(error(two + ", ensemble-weights: [1, 0.5], ensemble-mean: log-probability"), "no error");
  EXPECT_THAT(error("ensemble: " + other().string()), AllOf(HasSubstr("ensemble"), HasSubstr("list")));
  EXPECT_THAT(error("ensemble: [/nonexistent]"), HasSubstr("/nonexistent"));
  EXPECT_THAT(error(two + ", ensemble-weights: [1]"), HasSubstr("1 weights for 2 models"));
  EXPECT_THAT(error(two + ", ensemble-weights: [1, -1]"), HasSubstr("above 0"));
  EXPECT_THAT(error(two + ", ensemble-mean: median"), HasSubstr("ensemble_mean"));
  EXPECT_THAT(error(two + ", attention: cross"), HasSubstr("attention"));
  std::string tokenizer = dragoman::testing::read_text(other() / "tokenizer.json");
  std::ofstream(other() / "tokenizer.json") << tokenizer << "\n";
  EXPECT_THAT(error(two), AllOf(HasSubstr("tokenizer.json"), HasSubstr("same tokenizers"), HasSubstr("other")));
}

}  // namespace
}  // namespace dragoman::pipeline
