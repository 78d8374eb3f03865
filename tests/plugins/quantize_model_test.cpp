#include "dragoman/plugins/quantize_model.h"

#include "error_message.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/pipeline/scorer.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::plugins {
namespace {

using tensor::ComputeChoice;
using testing::error_of;
using ::testing::HasSubstr;

const std::filesystem::path kModel = testing::source_folder() / "examples/multi30k/model";

const std::vector<std::string> kLines{
    "Ein Mann in einem blauen Hemd steht auf einer Leiter und putzt ein Fenster.",
    "Zwei Hunde spielen im Schnee.",
    "",
    "Eine Frau.",
    "Mehrere Kinder laufen an einem sonnigen Tag am Strand entlang und lachen.",
    "Ein kleines Mädchen klettert in ein Spielhaus aus Holz.",
    "Menschen sitzen in einem Café vor einem großen Haus und trinken Kaffee, während es regnet.",
};

std::vector<std::string> translate(const std::filesystem::path& model, const pipeline::ModelOptions& options) {
  Host host;
  return pipeline::Translator(pipeline::Model(model, host, options), {}).translate(kLines);
}

class QuantizeModel : public ::testing::Test {
 protected:
  std::filesystem::path quantized(ComputeChoice type) {
    Host host;
    quantize_model(kModel, folder_ / "model", type, host);
    return folder_ / "model";
  }
  testing::TemporaryFolder folder_;
};

TEST_F(QuantizeModel, IsSmallerAndSaysSo) {
  const auto bytes = [](const std::filesystem::path& folder) {
    return static_cast<double>(std::filesystem::file_size(folder / "model.safetensors"));
  };
  for (const auto& [type, part] :
       {std::pair(ComputeChoice::kBF16, 1.01), std::pair(ComputeChoice::kI8, 0.54)}) {  // it is of F16
    const auto model = quantized(type);
    EXPECT_LT(bytes(model), part * bytes(kModel));
    EXPECT_EQ(formats::ModelFolder::open(model).config().compute, type);
    EXPECT_FALSE(formats::verify_checksums(model).empty());
    EXPECT_EQ(core::read_regular_file(model / "tokenizer.json"), core::read_regular_file(kModel / "tokenizer.json"));
    EXPECT_THAT(core::read_regular_file(model / "README.md"), HasSubstr("## Rounded weights"));
  }
}

TEST_F(QuantizeModel, TranslatesAlmostAsTheOriginal) {
  const std::vector<std::string> original = translate(kModel, {});
  for (const ComputeChoice type : {ComputeChoice::kBF16, ComputeChoice::kI8}) {
    const std::vector<std::string> rounded = translate(quantized(type), {});
    int equal = 0;
    for (std::size_t i = 0; i < original.size(); ++i) equal += rounded[i] == original[i] ? 1 : 0;
    EXPECT_GE(equal, 5) << name_of(type);
  }
}

/// The rounded folder multiplies what the original multiplies when it is told to round. Tables are rounded besides,
/// which no line of these shows in bf16.
TEST_F(QuantizeModel, IsWhatTheOriginalComputesWith) {
  EXPECT_EQ(translate(quantized(ComputeChoice::kBF16), {}), translate(kModel, {.compute = ComputeChoice::kBF16}));
  Host host;
  const std::vector<pipeline::LinePair> pairs{{kLines[0], "A man in a blue shirt is cleaning a window.", "1"},
                                              {kLines[4], "Children run along the beach.", "2"}};
  const auto scores = [&](const std::filesystem::path& of, std::optional<ComputeChoice> compute) {
    std::vector<double> result;
    for (const auto& score : pipeline::Scorer(pipeline::Model(of, host, {.compute = compute}), {}).score(pairs))
      result.push_back(score.score);
    return result;
  };
  const std::vector<double> exact = scores(kModel, std::nullopt);
  const std::vector<double> int8 = scores(quantized(ComputeChoice::kI8), std::nullopt);
  const std::vector<double> int8_weights = scores(kModel, ComputeChoice::kI8);
  EXPECT_EQ(int8, scores(folder_ / "model", ComputeChoice::kI8)) << "what is stored is the default";
  EXPECT_NE(int8, exact);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(int8[i], exact[i], 0.05 * std::abs(exact[i]));
    EXPECT_NEAR(int8[i], int8_weights[i], 0.05 * std::abs(exact[i]));
  }
}

/// The promise of every number type: neither company nor threads change a line.
TEST_F(QuantizeModel, ALineIsTheSameInAnyCompanyOnAnyNumberOfThreads) {
  const auto int8 = quantized(ComputeChoice::kI8);
  for (const auto& [model, compute] : {std::pair(kModel, ComputeChoice::kBF16), std::pair(kModel, ComputeChoice::kI8),
                                       std::pair(int8, ComputeChoice::kI8), std::pair(kModel, ComputeChoice::kAuto)}) {
    const std::vector<std::string> together = translate(model, {.threads = 1, .compute = compute});
    EXPECT_EQ(translate(model, {.threads = 3, .compute = compute, .limits = {.maximum_rows = 5}}), together);
    Host host;
    pipeline::Translator alone(pipeline::Model(model, host, {.compute = compute}), {});
    for (std::size_t i = 0; i < kLines.size(); ++i) EXPECT_EQ(alone.translate(kLines[i]), together[i]);
  }
}

/// The definition, computed in double precision element by element, finds the same translations.
TEST_F(QuantizeModel, TheReferenceAgrees) {
  const std::vector<std::string> lines{kLines[1], kLines[3]};
  for (const ComputeChoice compute : {ComputeChoice::kBF16, ComputeChoice::kI8}) {
    Host host;
    pipeline::Translator cpu(pipeline::Model(kModel, host, {.compute = compute}),
                             {.search = {.decoder = "greedy"}, .ignore_model_defaults = true});
    pipeline::Translator reference(
        pipeline::Model(kModel, host, {.device = tensor::Device::kReference, .compute = compute}),
        {.search = {.decoder = "greedy"}, .ignore_model_defaults = true});
    EXPECT_EQ(cpu.translate(lines), reference.translate(lines)) << name_of(compute);
  }
}

TEST_F(QuantizeModel, WhatMakesNoSenseIsRefused) {
  Host host;
  const auto error = [&](const std::filesystem::path& from, ComputeChoice type) {
    return error_of([&] { quantize_model(from, folder_ / "again", type, host); });
  };
  EXPECT_THAT(error(kModel, ComputeChoice::kAuto), HasSubstr("rounded to bf16 or int8, not to auto"));
  EXPECT_THAT(error(quantized(ComputeChoice::kI8), ComputeChoice::kBF16), HasSubstr("is one of int8 already"));
  EXPECT_THAT(error_of([&] { quantize_model(folder_ / "model", folder_ / "model", ComputeChoice::kI8, host); }),
              HasSubstr("which it would replace"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "again"));
}

TEST_F(QuantizeModel, NeverClearsItsInputAway) {
  Host host;
  for (const char* name : {"out.partial", "out.replaced"}) {
    std::filesystem::copy(kModel, folder_ / name);
    EXPECT_THAT(error_of([&] { quantize_model(folder_ / name, folder_ / "out", ComputeChoice::kI8, host); }),
                HasSubstr("has the name of the input"));
    EXPECT_NO_THROW(formats::verify_checksums(folder_ / name));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  }
}

/// A stranger's model could otherwise have any file of whoever rounds and publishes it given away.
TEST_F(QuantizeModel, ACardThatIsALinkIsNotCopied) {
  Host host;
  std::filesystem::copy(kModel, folder_ / "model");
  std::filesystem::remove(folder_ / "model" / "README.md");
  std::filesystem::remove(folder_ / "model" / "SHA256SUMS");
  core::write_file(folder_ / "secret", "root:x:0:0\n");
  std::filesystem::create_symlink(folder_ / "secret", folder_ / "model" / "README.md");
  quantize_model(folder_ / "model", folder_ / "out", ComputeChoice::kI8, host);
  const std::string card = core::read_regular_file(folder_ / "out" / "README.md");
  EXPECT_THAT(card, HasSubstr("## Rounded weights"));
  EXPECT_THAT(card, ::testing::Not(HasSubstr("root")));
}

TEST_F(QuantizeModel, AnInt8ModelCannotBeDamagedUnseen) {
  const auto model = quantized(ComputeChoice::kI8);
  const auto file = formats::SafetensorsFile::open(model / "model.safetensors");
  std::string bytes = core::read_regular_file(model / "model.safetensors");
  const std::uint64_t offset = file.find("embedding.weight_scale")->offset + 2 * sizeof(float);
  const auto error_with_scale = [&](float scale) {
    std::memcpy(bytes.data() + offset, &scale, sizeof scale);
    core::write_file(model / "model.safetensors", bytes);
    return error_of([&] { translate(model, {.threads = 1}); });
  };
  EXPECT_THAT(error_with_scale(std::numeric_limits<float>::quiet_NaN()),
              HasSubstr("the scale of row 2 in 'embedding.weight_scale' is nan"));
  EXPECT_THAT(error_with_scale(-1), HasSubstr("the scale of row 2 in 'embedding.weight_scale' is -1"));
  EXPECT_THAT(error_with_scale(1e38F), HasSubstr("the scale of row 2 of the tensor 'embedding.weight' is 1e+38"))
      << "too large times the largest number";
}

}  // namespace
}  // namespace dragoman::plugins
