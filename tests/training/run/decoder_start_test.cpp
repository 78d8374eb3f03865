#include "small_task.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/decoding/score.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/nn/zero_start.h>
#include <dragoman/plugins/export_model.h>
#include <dragoman/plugins/import_model.h>
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

/// A run whose decoder begins with zeros, with the other keys that Marian asks for.
class ZeroStart : public ::testing::Test {
 protected:
  static constexpr int kWidth = 16;

  core::Json tree(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> assignments{"model.decoder_start=zeros", "model.output_bias=true",
                                         "model.positions=sinusoidal-tensor2tensor", "model.layer_norm_epsilon=1e-6",
                                         "training.optimizer.weight_decay=0.1"};
    assignments.insert(assignments.end(), more.begin(), more.end());
    return task_.tree(assignments);
  }
  TrainingConfig config(const std::vector<std::string>& more = {}) const {
    return read_training_config(tree(more), "zero start");
  }
  plugins::LoadedModel load(const std::filesystem::path& folder) {
    return plugins::load_model(folder, host_, {.trainable = true});
  }
  std::string error_of(const TrainingConfig& config) {
    try {
      testing::train(config);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::vector<double> scores(const plugins::LoadedModel& model) {
    core::SequentialExecutor executor;
    const auto context = host_.runtime().make_context(tensor::Device::kCpu, executor);
    std::vector<double> scores;
    core::LineReader sources(task_.file("valid.source"));
    core::LineReader targets(task_.file("valid.target"));
    for (std::string source_text, target_text; sources.next(source_text) && targets.next(target_text);) {
      std::vector<std::int32_t> source = model.source_tokenizer->encode(source_text);
      source.push_back(model.model->spec().end);
      const std::vector<std::int32_t> target = model.target_tokenizer->encode(target_text);
      const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(source.size())};
      const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(target.size())};
      scores.push_back(decoding::score(*model.model, *context, {source, source_offsets}, {target, target_offsets})[0]
                           .log_probability);
    }
    return scores;
  }

  TemporaryFolder folder_;
  testing::SmallTask task_{folder_.path()};
  plugins::Host host_;
};

/// The row is also one of the encoder's table and of the output matrix, which have gradients.
TEST_F(ZeroStart, StaysInTraining) {
  for (const char* tying : {"all", "source-target", "target-output", "none"}) {
    for (const char* optimizer : {"adamw", "adafactor"}) {
      const std::string run = std::string(tying) + "-" + optimizer;
      testing::train(config({"output=" + task_.file(run).string(), std::string("model.tying=") + tying,
                             std::string("training.optimizer.type=") + optimizer, "training.ema_decay=0.9"}));
      const plugins::LoadedModel trained = load(task_.file(run) / "last");
      EXPECT_TRUE(nn::starts_from_zeros(*trained.model)) << run;
      const float* table = trained.model->embedding_tables().target->value.as<float>();
      EXPECT_NE(table[2 * kWidth], 0) << "</s>";
    }
  }
}

/// With the model that another run continues, and the one that a run begins with.
TEST_F(ZeroStart, StaysInResumedAndFineTunedModels) {
  testing::train(config({"training.updates=7"}));
  testing::train(config(), StartMode::kResume);
  EXPECT_TRUE(nn::starts_from_zeros(*load(task_.file("run") / "last").model));
  core::Json tuned = tree({"output=" + task_.file("tuned").string()});
  tuned["model"] = {{"from", (task_.file("run") / "last").string()}};
  tuned["data"].erase("tokenizer");
  testing::train(read_training_config(tuned, "fine-tuning"));
  EXPECT_TRUE(nn::starts_from_zeros(*load(task_.file("tuned") / "last").model));
  // A model that began with a token learns to begin with zeros.
  testing::train(config({"output=" + task_.file("token").string(), "model.decoder_start=begin"}));
  EXPECT_FALSE(nn::starts_from_zeros(*load(task_.file("token") / "last").model));
  tuned["model"] = {{"from", (task_.file("token") / "last").string()}, {"decoder_start", "zeros"}};
  tuned["output"] = task_.file("other").string();
  testing::train(read_training_config(tuned, "fine-tuning"));
  EXPECT_TRUE(nn::starts_from_zeros(*load(task_.file("other") / "last").model));
}

TEST_F(ZeroStart, GoesToMarianAndBack) {
  testing::train(config());
  const plugins::LoadedModel trained = load(task_.file("run") / "last");
  plugins::export_model(task_.file("run") / "last", task_.file("marian"), "marian-npz", host_);
  plugins::import_model(task_.file("marian"), task_.file("back"), host_);
  const plugins::LoadedModel back = load(task_.file("back"));
  EXPECT_EQ(back.model->spec().target_vocabulary, trained.model->spec().target_vocabulary + 1)
      << "the first input has a token of its own again";
  EXPECT_THAT(scores(back), ::testing::Pointwise(::testing::DoubleNear(1e-5), scores(trained)));
  // Going there again adds no second token.
  plugins::export_model(task_.file("back"), task_.file("again"), "marian-npz", host_);
  const auto bytes_of = [&](const char* folder) {
    std::ifstream file(task_.file(folder) / "model.npz", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_GT(bytes_of("again").size(), 10000U);
  EXPECT_EQ(bytes_of("again"), bytes_of("marian"));
}

TEST_F(ZeroStart, IsRefusedWhereItCannotBe) {
  using ::testing::HasSubstr;
  EXPECT_THAT(error_of(config({"data.special_tokens.begin=</s>"})),
              HasSubstr("model.decoder_start: the embedding of the begin token becomes zeros"));
  testing::train(config({"output=" + task_.file("token").string(), "model.decoder_start=begin"}));
  EXPECT_THAT(
      error_of(config({"model.from=" + (task_.file("token") / "last").string(), "training.freeze=[embedding*]"})),
      HasSubstr("model.decoder_start: zeros would change the embeddings (embedding.weight)"));
  EXPECT_THAT(error_of(config({"model.from=" + (task_.file("token") / "last").string(), "training.lora.rank=2"})),
              HasSubstr("model.decoder_start: zeros would change the embeddings (embedding.weight)"));
}

/// Until 2026-11-28, model.decoder_start was read and not heeded beside model.from.
TEST_F(ZeroStart, OverridesTheFoldersFirstInput) {
  testing::train(config({"output=" + task_.file("token").string(), "model.decoder_start=begin"}));
  const std::string from = "model.from=" + (task_.file("token") / "last").string();
  testing::train(config({"output=" + task_.file("end").string(), "model.decoder_start=end", from}));
  EXPECT_EQ(load(task_.file("end") / "last").model->spec().decoder_start, 2);
  const std::string back = "model.from=" + (task_.file("end") / "last").string();
  testing::train(config({"output=" + task_.file("begin").string(), "model.decoder_start=begin", back}));
  EXPECT_EQ(load(task_.file("begin") / "last").model->spec().decoder_start, 1);
}

}  // namespace
}  // namespace dragoman::training
