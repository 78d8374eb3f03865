// training.lora: low-rank adapters.
#include "small_task.h"
#include "test_data.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/training/loss.h>
#include <dragoman/training/low_rank_adapters.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;
using tensor::Device;
using ::testing::HasSubstr;
using testing::SmallTask;
using testing::train;

/// A small Transformer in double precision, and two pairs that it is trained on.
class AdaptersOfAModel : public ::testing::Test {
 protected:
  void SetUp() override {
    const core::Json options = {{"d_model", 8}, {"heads", 2},          {"feed_forward", 6},  {"activation", "geglu"},
                                {"dropout", 0}, {"encoder_layers", 1}, {"decoder_layers", 1}};
    model_ = make_environment(testing::host())
                 .make_model("transformer", {.source_vocabulary = 12, .target_vocabulary = 12}, options);
    model_->parameters().allocate(memory_, tensor::DType::kF64, Device::kReference);
    model_->parameters().initialise(1);
    model_->parameters().attach_gradients(memory_);
    for (const auto& ids : {std::vector<std::int32_t>{3, 4, 5, 2}, {7, 9, 2}}) pairs_.source.append(ids);
    for (const auto& ids : {std::vector<std::int32_t>{6, 4, 2}, {8, 3, 11, 10, 2}}) pairs_.target.append(ids);
    batch_.assign(pairs_, std::vector<std::uint32_t>{0, 1}, 1);
  }

  double loss() const { return evaluate_loss(*context_, *model_, batch_, 0.1).loss; }

  tensor::DeviceMemory& memory_ = testing::host().runtime().memory(Device::kReference);
  core::SequentialExecutor executor_;
  std::unique_ptr<tensor::Context> context_ = testing::host().runtime().make_context(Device::kReference, executor_);
  std::unique_ptr<nn::Seq2SeqModel> model_;
  EncodedPairs pairs_;
  Batch batch_;
};

TEST_F(AdaptersOfAModel, GradientsAreTheSlopesOfTheLossOfTheMergedModel) {
  LowRankAdapters adapters({.rank = 2, .alpha = 6}, model_->parameters(), memory_);
  nn::ParameterStore& trained = adapters.parameters();
  trained.initialise(5);
  adapters.keep_base();
  trained.attach_gradients(memory_);
  // B is zero to begin with, where A has no slope.
  const tensor::Tensor flat = trained.flat_values();
  for (std::int64_t i = 0; i < flat.size(); ++i)
    flat.as<double>()[i] += 0.1 * core::random_normal(7, 1, static_cast<std::uint64_t>(i));
  adapters.merge(*context_);
  model_->parameters().begin_gradients();
  accumulate_gradients(*context_, *model_, batch_, 0.1, 1, {});
  model_->parameters().finish_gradients();
  adapters.make_gradients(*context_);
  constexpr double kStep = 1e-6;
  double largest = 0;
  for (const nn::Parameter& parameter : trained.all())
    for (std::int64_t i = 0; i < parameter.value.size(); i += 5) {
      double& value = parameter.value.as<double>()[i];
      const double before = value;
      const auto at = [&](double moved) {
        value = moved;
        adapters.merge(*context_);
        return loss();
      };
      const double slope = (at(before + kStep) - at(before - kStep)) / (2 * kStep);
      value = before;
      EXPECT_NEAR(parameter.gradient->value.as<double>()[i], slope, 1e-6) << parameter.name << ' ' << i;
      largest = std::max(largest, std::fabs(slope));
    }
  EXPECT_GT(largest, 1e-2);
}

TEST_F(AdaptersOfAModel, HaveAPairOfMatricesForEachProjectionThatAWeightStandsFor) {
  const LowRankAdapters adapters({.rank = 3, .targets = {"*qkv*", "*in.weight"}}, model_->parameters(), memory_);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> shapes;
  for (const nn::Parameter& parameter : adapters.parameters().all())
    shapes[parameter.name] = {parameter.rows, parameter.cols};
  for (const auto& [name, shape] : shapes) {
    const int projections = name.find("qkv") != std::string::npos ? 3 : 2;  // those of the gated layer are two
    const std::int64_t outputs = model_->parameters().find(name.substr(0, name.rfind('.')))->rows;
    EXPECT_EQ(shape, name.ends_with("lora_A") ? std::pair(projections * std::int64_t{3}, std::int64_t{8})
                                              : std::pair(outputs, std::int64_t{3}))
        << name;
  }
  EXPECT_EQ(shapes.size(), 2U * (2 + 2));
  for (const nn::Parameter& parameter : model_->parameters().all())
    EXPECT_EQ(parameter.frozen, !shapes.contains(parameter.name + ".lora_A")) << parameter.name;
}

TEST_F(AdaptersOfAModel, LeaveTheProjectionToTheVocabularyUnlessItIsNamed) {
  for (const nn::Parameter* weight : adapted_weights({.rank = 1}, model_->parameters())) {
    EXPECT_NE(weight->name, "output.weight");
    EXPECT_FALSE(weight->is_table) << weight->name;
  }
}

class LoraRun : public ::testing::Test {
 protected:
  void SetUp() override { train(task_.config({"output=" + task_.file("base").string(), "training.updates=16"})); }

  std::filesystem::path base() const { return task_.file("base") / "last"; }

  TrainingConfig config(const std::string& run, const std::vector<std::string>& assignments = {}) const {
    core::Json tree = task_.tree();
    tree["output"] = task_.file(run).string();
    tree["model"] = {{"from", base().string()}};
    tree["data"].erase("tokenizer");
    tree["training"]["updates"] = 8;
    tree["training"]["lora"] = {{"rank", 1}, {"alpha", 4}};
    for (const std::string& assignment : assignments) core::set_option(tree, assignment);
    return read_training_config(tree, "lora");
  }

  struct Matrix {
    std::int64_t rows;
    std::int64_t cols;
    std::vector<float> values;
    bool operator==(const Matrix&) const = default;
  };
  static std::map<std::string, Matrix> values(const std::filesystem::path& folder) {
    plugins::Host host;
    const plugins::LoadedModel loaded = plugins::load_model(folder, host);
    std::map<std::string, Matrix> values;
    for (const nn::Parameter& parameter : loaded.model->parameters().all()) {
      const auto* data = parameter.value.as<float>();
      values[parameter.name] = {parameter.rows, parameter.cols, {data, data + parameter.rows * parameter.cols}};
    }
    return values;
  }
  std::map<std::string, Matrix> values_of(const std::string& run) const { return values(task_.file(run) / "last"); }

  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
};

/// The largest 2x2 determinant of after - before, against the square of its largest value: 0 for a matrix of rank 1.
double distance_from_rank_one(const std::vector<float>& before, const std::vector<float>& after, std::int64_t rows,
                              std::int64_t cols) {
  const auto at = [&](std::int64_t row, std::int64_t col) {
    const auto i = static_cast<std::size_t>(row * cols + col);
    return static_cast<double>(after[i]) - static_cast<double>(before[i]);
  };
  double largest = 0, determinant = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col) largest = std::max(largest, std::fabs(at(row, col)));
  for (std::int64_t row = 0; row + 1 < rows; ++row)
    for (std::int64_t col = 0; col + 1 < cols; ++col)
      determinant =
          std::max(determinant, std::fabs(at(row, col) * at(row + 1, col + 1) - at(row, col + 1) * at(row + 1, col)));
  return determinant / (largest * largest);
}

TEST_F(LoraRun, ChangesWeightsByMatricesOfTheRankAndNothingElse) {
  train(config("run"));
  const auto before = values(base());
  std::size_t changed = 0;
  for (const auto& [name, after] : values_of("run")) {
    const Matrix& was = before.at(name);
    const bool adapted = after.rows > 1 && !name.starts_with("embedding");
    EXPECT_EQ(after != was, adapted) << name;
    if (!adapted) continue;
    ++changed;
    const bool several = name.find("qkv") != std::string::npos || name.find(".kv") != std::string::npos;
    if (several) continue;
    EXPECT_LT(distance_from_rank_one(was.values, after.values, after.rows, after.cols), 1e-4) << name;
  }
  EXPECT_EQ(changed, 11U);  // 4 of the encoder's layer, 7 of the decoder's
}

TEST_F(LoraRun, BeginsAsTheModelIs) {
  train(config("same", {"training.updates=1", "training.schedule.learning_rate=1e-30"}));
  EXPECT_EQ(values_of("same"), values(base()));
}

TEST_F(LoraRun, AdaptsWhatThePatternsName) {
  train(config("some", {"training.lora.targets=[decoder.*]"}));
  const auto before = values(base());
  for (const auto& [name, after] : values_of("some"))
    EXPECT_EQ(after != before.at(name), after.rows > 1 && name.starts_with("decoder.")) << name;
}

TEST_F(LoraRun, CheckpointsHoldTheAdaptersAlone) {
  train(config("run"));
  const auto file = formats::SafetensorsFile::open(task_.file("run") / "checkpoint-8" / "model.safetensors");
  for (const formats::StoredTensor& tensor : file.tensors())
    EXPECT_TRUE(tensor.name.ends_with(".lora_A") || tensor.name.ends_with(".lora_B")) << tensor.name;
  EXPECT_EQ(file.tensors().size(), 22U);
}

TEST_F(LoraRun, GoesOnWithoutTheModelThatItBeganWith) {
  train(config("whole", {"training.ema_decay=0.5", "checkpoint.average=2", "checkpoint.average_of=last"}));
  const std::vector<std::string> also = {"training.ema_decay=0.5", "checkpoint.average=2",
                                         "checkpoint.average_of=last"};
  std::vector<std::string> first = also;
  first.emplace_back("training.updates=4");
  train(config("parts", first));
  std::filesystem::rename(base(), task_.file("elsewhere"));
  train(config("parts", also), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("parts", 8), task_.checkpoint_bytes("whole", 8));
  EXPECT_EQ(values_of("parts"), values_of("whole"));
  EXPECT_THAT(error_of([&] { train(config("parts", {"training.lora.alpha=5"}), StartMode::kResume); }),
              HasSubstr("training.lora.alpha"));
}

TEST_F(LoraRun, RefusesABaseThatIsNotTheOneItBeganWith) {
  train(config("run", {"training.updates=4"}));
  const std::filesystem::path file = task_.file("run") / "base" / "model.safetensors";
  std::string bytes = core::read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  core::write_file(file, bytes);
  EXPECT_THAT(error_of([&] { train(config("run"), StartMode::kResume); }), HasSubstr("base/model.safetensors"));
}

/// Also where the run changed what the model was, and whatever becomes of the folder that it began with.
TEST_F(LoraRun, AdaptersBesideTheModelAreTheModel) {
  tokenizer::LearnOptions options;
  options.vocab_size = 16;
  options.byte_fallback = false;
  options.threads = 1;
  core::write_file(task_.file("more"), core::read_file(task_.file("train.target")) + "xyzzy xyxy\n");
  tokenizer::learn_bpe({task_.file("more")}, options).save(task_.file("other.json"));
  train(config("run", {"model.activation=gelu", "data.tokenizer=" + task_.file("other.json").string()}));
  std::filesystem::rename(base(), task_.file("elsewhere"));
  plugins::Host host;
  plugins::import_model(task_.file("run") / "last-adapters", task_.file("merged"), host);
  const auto merged = values(task_.file("merged")), last = values_of("run");
  for (const auto& [name, matrix] : last)
    for (std::size_t i = 0; i < matrix.values.size(); ++i)
      ASSERT_NEAR(merged.at(name).values[i], matrix.values[i], 1e-6) << name;
  EXPECT_EQ(formats::load_model_config(task_.file("merged")).model["activation"], "gelu");
}

TEST_F(LoraRun, SaysWhereItCameFromWhateverIsNamedLater) {
  train(config("run", {"training.updates=4"}));
  std::filesystem::copy(base(), task_.file("another"));
  train(config("run", {"model.from=" + task_.file("another").string()}), StartMode::kResume);
  const core::Json record = core::load_json((task_.file("run") / "run.json").string());
  EXPECT_EQ(record["start"]["folder"], base().string());
}

TEST_F(LoraRun, DoesNotReplaceAFolderThatHoldsMoreThanAdapters) {
  train(config("run", {"training.updates=4"}));
  core::write_file(task_.file("run") / "last-adapters" / "README.md", "mine");
  EXPECT_THAT(error_of([&] { train(config("run"), StartMode::kResume); }), HasSubstr("README.md"));
  EXPECT_EQ(core::read_file(task_.file("run") / "last-adapters" / "README.md"), "mine");
}

TEST_F(LoraRun, DoesNotBecomeARunOfAnotherKind) {
  train(config("adapters", {"training.updates=4"}));
  EXPECT_THAT(error_of([&] { train(config("adapters", {"training.lora.rank=0"}), StartMode::kFork); }),
              HasSubstr("training.lora"));
  train(config("weights", {"training.updates=4", "training.lora.rank=0"}));
  EXPECT_THAT(error_of([&] { train(config("weights"), StartMode::kFork); }), HasSubstr("training.lora"));
}

/// Every update on such a base is left out, and what the run would export is as bad as the base.
TEST_F(LoraRun, DoesNotVouchForABaseThatIsNotFinite) {
  const std::filesystem::path file = base() / "model.safetensors";
  std::string weights = core::read_file(file);
  weights.replace(weights.size() - 4, 4, std::string("\0\0\xC0\x7F", 4));
  core::write_file(file, weights);
  std::filesystem::remove(base() / "SHA256SUMS");
  for (const char* policy : {"stop", "skip", "restore"}) {
    const std::string run = std::string("run-") + policy;
    EXPECT_THAT(error_of([&] { train(config(run, {std::string("training.on_non_finite=") + policy})); }),
                HasSubstr("holds nan"))
        << policy;
    for (const char* output : {"last", "best", "last-adapters"})
      EXPECT_FALSE(std::filesystem::exists(task_.file(run) / output)) << policy << ' ' << output;
  }
}

TEST_F(LoraRun, RefusesWhatMakesNoSense) {
  EXPECT_THAT(error_of([&] { train(config("bad", {"training.lora.targets=[decoder.layer.*]"})); }),
              HasSubstr("training.lora.targets: no weight of a linear layer of the model is called 'decoder.layer.*'"));
  EXPECT_THAT(error_of([&] { train(config("bad", {"training.freeze=[decoder.*]"})); }), HasSubstr("training.lora"));
  EXPECT_THAT(error_of([&] { task_.config({"training.lora.rank=2"}); }), HasSubstr("model.from"));
  EXPECT_THAT(error_of([&] { task_.config({"training.lora={alpha: 8}"}); }), HasSubstr("rank is missing"));
  EXPECT_THAT(error_of([&] { task_.config({"training.lora={}"}); }), HasSubstr("rank is missing"));
}

}  // namespace
}  // namespace dragoman::training
