#include "program.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>

#include <dragoman/core/file.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Every command that writes a model folder, or the files of another toolkit, from a model. The sums of a folder
/// certify its weights, so none of them accepts weights that are not finite or that differ from their sums.
class UnfitWeights : public ::testing::Test {
 protected:
  UnfitWeights() {
    copy_bundled("good");
    must("convert good --to huggingface --output hf");
    std::ofstream(folder_ / "a.de") << "Zwei Hunde spielen im Schnee.\nEin Mann.\n";
    std::ofstream(folder_ / "a.en") << "Two dogs play in the snow.\nA man.\n";
    std::ofstream(folder_ / "a.al") << "0-0 1-1\n0-0 1-1\n";
  }

  Outcome run(const std::string& arguments) const { return run_dragoman(folder_.path(), arguments); }
  void must(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << ": " << outcome.error;
  }
  void copy_bundled(const std::string& name) const {
    fs::remove_all(folder_ / name);
    fs::copy(in_source("examples/multi30k/model"), folder_ / name);
  }
  /// Replaces a value in the middle of the weights.
  void poke(const std::string& folder, float value) const {
    const fs::path path = folder_ / folder / "model.safetensors";
    const auto file = formats::SafetensorsFile::open(path);
    std::string content = core::read_file(path);
    const formats::StoredTensor& stored = file.tensors()[file.tensors().size() / 2];
    const auto half = static_cast<std::uint16_t>(std::isnan(value) ? 0x7E00 : std::isinf(value) ? 0x7C00 : 0x3400);
    if (stored.type == "F16")
      std::memcpy(&content[stored.offset], &half, sizeof half);
    else
      std::memcpy(&content[stored.offset], &value, sizeof value);
    std::ofstream(path, std::ios::binary) << content;
  }
  /// Checks that each command refuses the folder "bad", names it, and changes nothing.
  void expect_refusals(const std::string& reason) const {
    for (const std::string& command : commands_) {
      fs::remove_all(folder_ / "o");
      const Outcome outcome = run(command);
      EXPECT_EQ(outcome.status, 1) << command;
      EXPECT_THAT(outcome.error, AllOf(HasSubstr("bad"), HasSubstr(reason))) << command;
      EXPECT_FALSE(fs::exists(folder_ / "o")) << command;
    }
    EXPECT_EQ(core::read_file(folder_ / "bad/config.json"), core::read_file(folder_ / "good/config.json"));
    EXPECT_FALSE(fs::exists(folder_ / "bad/shortlist.bin"));
  }

  TemporaryFolder folder_;
  const std::vector<std::string> commands_ = {
      "quantize --model bad --output o",
      "quantize --model bad --type bf16 --output o",
      "average good bad --output o",
      "average bad good --output o",
      "average good/model.safetensors bad/model.safetensors --output o",
      "tune --model bad a.de a.en --alpha 1 --output o",
      "tune --model bad a.de a.en --alpha 1 --output bad",
      "tune --model bad a.de a.en --alpha 1 --output o --allow-non-finite",
      "shortlist --model bad a.de a.en --alignments a.al --into o",
      "shortlist --model bad a.de a.en --alignments a.al --into bad",
      "convert bad --to huggingface --output o",
      "convert bad --to marian-npz --output o",
      "convert bad --to ctranslate2 --output o",
  };
};

TEST_F(UnfitWeights, AreCertifiedByNoCommand) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    copy_bundled("bad");
    poke("bad", value);
    formats::write_checksums(folder_ / "bad");
    expect_refusals("the file is damaged, or training diverged");
    fs::remove(folder_ / "bad/SHA256SUMS");
    expect_refusals("the file is damaged, or training diverged");
  }
  fs::remove_all(folder_ / "o");
  poke("hf", std::numeric_limits<float>::quiet_NaN());
  const Outcome import = run("convert hf --output o");
  EXPECT_EQ(import.status, 1);
  EXPECT_THAT(import.error, AllOf(HasSubstr("hf"), HasSubstr("finite")));
  EXPECT_FALSE(fs::exists(folder_ / "o"));
}

/// A file that is not the one of which the sums were made.
TEST_F(UnfitWeights, ThatDifferFromTheirSumsAreCertifiedByNoCommand) {
  copy_bundled("bad");
  poke("bad", 0.25F);
  for (const std::string& command : commands_) {
    if (command.find(".safetensors") != std::string::npos) continue;  // reads and writes no folder
    fs::remove_all(folder_ / "o");
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_THAT(outcome.error, HasSubstr("the folder is damaged or was changed")) << command;
    EXPECT_FALSE(fs::exists(folder_ / "o")) << command;
  }
}

}  // namespace
}  // namespace dragoman::testing
