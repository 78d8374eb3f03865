// A stop request ends what takes long with models, and leaves nothing.
#include "stop_during.h"
#include "test_data.h"

#include <functional>

#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/dragoman.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class StopTest : public ::testing::Test {
 protected:
  /// A model of 30 million parameters, with the tokenizer of the bundled one.
  static void SetUpTestSuite() {
    folder_ = new testing::TemporaryFolder;
    const formats::ModelConfig bundled =
        formats::load_model_config(testing::source_folder() / "examples/multi30k/model");
    const core::Json config = {
        {"d_model", 512}, {"heads", 8}, {"feed_forward", 2048}, {"encoder_layers", 4}, {"decoder_layers", 4}};
    const auto model = transformer::make_transformer(bundled.sequences, config);
    model->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
    model->parameters().initialise(3);
    const auto tokenizer = testing::source_folder() / "examples/multi30k/model/tokenizer.json";
    formats::write_model_folder(model_path(), {.model_type = "transformer",
                                               .model = model.get(),
                                               .tokenizer = {.content = core::read_regular_file(tokenizer)}});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::filesystem::path model_path() { return *folder_ / "model"; }

  using Call = std::function<void(const std::filesystem::path& output, const std::stop_token& stop)>;

  /// Expects that a stop before the call and a stop during it end it, and that its output does not appear.
  static void expect_stops_cleanly(const Call& call) {
    const testing::TemporaryFolder folder;
    testing::expect_stops([&](const std::stop_token& stop) { call(folder / "stopped", stop); }, milliseconds(0));
    EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
    const Clock::time_point begin = Clock::now();
    call(folder / "whole", {});
    const auto whole = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    std::filesystem::remove_all(folder / "whole");
    for (const int tenths : {1, 3})
      testing::expect_stops(
          [&](const std::stop_token& stop) {
            std::filesystem::remove_all(folder / "stopped");  // of a call that came to its end before the request
            call(folder / "stopped", stop);
          },
          std::max(milliseconds(1), whole * tenths / 10));
    EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
  }

 private:
  static testing::TemporaryFolder* folder_;
};

testing::TemporaryFolder* StopTest::folder_ = nullptr;

TEST_F(StopTest, EndsQuantization) {
  for (const ComputeChoice type : {ComputeChoice::kI8, ComputeChoice::kBF16})
    expect_stops_cleanly([&](const auto& output, const auto& stop) { quantize(model_path(), output, type, stop); });
}

TEST_F(StopTest, EndsExports) {
  expect_stops_cleanly([&](const auto& output, const auto& stop) {
    convert(model_path(), output, {.to = "ctranslate2", .stop = stop});
  });
}

TEST_F(StopTest, EndsImports) {
  const testing::TemporaryFolder foreign;
  convert(model_path(), foreign / "model", {.to = "ctranslate2"});
  expect_stops_cleanly(
      [&](const auto& output, const auto& stop) { convert(foreign / "model", output, {.stop = stop}); });
  expect_stops_cleanly([&](const auto&, const auto& stop) { Model(foreign / "model", {.threads = 1}, stop); });
}

TEST_F(StopTest, EndsTheOpeningOfAModel) {
  for (const ComputeChoice type : {ComputeChoice::kF32, ComputeChoice::kI8})
    expect_stops_cleanly(
        [&](const auto&, const auto& stop) { Model(model_path(), {.threads = 1, .compute = type}, stop); });
}

/// A folder that is to be replaced stays as it was.
TEST_F(StopTest, KeepsTheFolderThatIsNotReplaced) {
  const testing::TemporaryFolder folder;
  quantize(testing::source_folder() / "examples/multi30k/model", folder / "out");
  const std::string before = core::read_regular_file(folder / "out/SHA256SUMS");
  testing::expect_stops(
      [&](const std::stop_token& stop) { quantize(model_path(), folder / "out", ComputeChoice::kI8, stop); },
      milliseconds(50));
  EXPECT_EQ(core::read_regular_file(folder / "out/SHA256SUMS"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1);
}

}  // namespace
}  // namespace dragoman
