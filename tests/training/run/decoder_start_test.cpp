#include "small_task.h"
#include "test_data.h"

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/decoding/score.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;

/// A run of which the decoder's first input is `model.decoder_start`: the begin of the vocabulary (id 1), or the end
/// (id 2) as in fairseq and Marian.
class TrainedDecoderStart : public ::testing::TestWithParam<const char*> {
 protected:
  static bool starts_with_end() { return GetParam() == std::string_view("end"); }
  TrainingSummary train_with(const std::vector<std::string>& more) {
    std::vector<std::string> assignments{std::string("model.decoder_start=") + GetParam(), "model.tying=none"};
    assignments.insert(assignments.end(), more.begin(), more.end());
    return testing::train(task_.config(assignments));
  }

  TemporaryFolder folder_;
  testing::SmallTask task_{folder_.path()};
};

/// The row of a token that is never an input has no gradient, and stays what was drawn.
TEST_P(TrainedDecoderStart, IsTheInputThatTrainingGivesTheDecoder) {
  train_with({"training.updates=4", "checkpoint.every=1", "checkpoint.keep=9"});
  const auto rows = [&](int update) {
    const auto file = formats::SafetensorsFile::open(task_.file("run") / ("checkpoint-" + std::to_string(update)) /
                                                     "model.safetensors");
    const auto bytes = file.read("target_embedding.weight");
    const std::size_t width = 16 * sizeof(float);
    std::vector<std::string> result;
    for (std::size_t row = 0; row < 4; ++row)
      result.emplace_back(reinterpret_cast<const char*>(bytes.data()) + row * width, width);
    return result;
  };
  const auto early = rows(1);
  const auto late = rows(4);
  EXPECT_EQ(early[0], late[0]) << "<unk> is nowhere in the data";
  EXPECT_EQ(early[1] != late[1], !starts_with_end()) << "<s>";
  EXPECT_EQ(early[2] != late[2], starts_with_end()) << "</s>: a target, and an input only if it is the first";
}

TEST_P(TrainedDecoderStart, IsThatOfValidationAndOfTheExportedModel) {
  const TrainingSummary summary = train_with({"training.updates=24", "validation.metric=loss"});
  plugins::Host host;
  const plugins::LoadedModel best = plugins::load_model(task_.file("run") / "best", host);
  EXPECT_EQ(best.model->spec().begin, 1);
  EXPECT_EQ(best.model->spec().end, 2);
  EXPECT_EQ(best.model->spec().decoder_start, starts_with_end() ? 2 : 1);

  core::SequentialExecutor executor;
  const auto context = host.runtime().make_context(tensor::Device::kCpu, executor);
  double sum = 0;
  std::int64_t tokens = 0;
  core::LineReader sources(task_.file("valid.source"));
  core::LineReader targets(task_.file("valid.target"));
  for (std::string source_text, target_text; sources.next(source_text) && targets.next(target_text);) {
    std::vector<std::int32_t> source = best.source_tokenizer->encode(source_text);
    source.push_back(2);
    const std::vector<std::int32_t> target = best.target_tokenizer->encode(target_text);
    const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(source.size())};
    const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(target.size())};
    sum -=
        decoding::score(*best.model, *context, {source, source_offsets}, {target, target_offsets})[0].log_probability;
    tokens += static_cast<std::int64_t>(target.size()) + 1;
  }
  ASSERT_GT(tokens, 20);
  EXPECT_NEAR(summary.best->value, sum / static_cast<double>(tokens), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Tokens, TrainedDecoderStart, ::testing::Values("begin", "end"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace dragoman::training
