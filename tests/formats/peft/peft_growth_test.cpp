// The cost of adapters with many modules and many names in their configuration.
#include "error_message.h"
#include "meter.h"
#include "peft/peft_files.h"
#include "reshaped_model.h"
#include "test_data.h"

#include <algorithm>
#include <ctime>
#include <deque>

#include <gmock/gmock.h>

#include <dragoman/core/options.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/imports/adapters.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::imports {
namespace {

using core::Json;
using std::filesystem::path;
using testing::error_of;
using ::testing::HasSubstr;

/// Returns the seconds of the processor that this thread has had.
double processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class PeftGrowth : public ::testing::Test {
 protected:
  /// Writes a narrow Transformer with this many layers in each stack, and adapters of rank 1 for all its modules, which
  /// are 16 times as many.
  void write_adapters_of(int layers) {
    std::filesystem::remove_all(base_);
    testing::write_reshaped_model(
        testing::golden_file("huggingface/marian"), base_,
        {{"d_model", 2}, {"heads", 1}, {"feed_forward", 2}, {"encoder_layers", layers}, {"decoder_layers", layers}},
        host_);
    model_ = plugins::load_model(base_, host_, {.trainable = true});
    AdapterSet set{.model_type = "transformer", .model = model_.config.model, .base = base_, .weights = {}};
    std::deque<std::vector<float>> values;
    const auto ones = [&](std::int64_t rows, std::int64_t cols) {
      auto& data = values.emplace_back(static_cast<std::size_t>(rows * cols), 1.0F);
      return tensor::Tensor{data.data(), rows, cols, cols, tensor::DType::kF32, tensor::Device::kCpu};
    };
    for (const nn::Parameter& weight : model_.model->parameters().all()) {
      if (!weight.is_weight || weight.is_table) continue;
      const int projections = weight.name.ends_with("qkv.weight") ? 3 : weight.name.ends_with("kv.weight") ? 2 : 1;
      set.weights.push_back({.parameter = weight.name,
                             .projections = projections,
                             .a = ones(projections, weight.cols),
                             .b = ones(weight.rows, 1)});
    }
    write_adapters(adapters_, set);
  }

  /// Adds names to each list of the configuration that belong to no module.
  void add_names(int count) const {
    Json config = core::load_json((adapters_ / kAdapterConfig).string());
    Json patterns = Json::object();
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("x.layers.{}.fc1", i);
      patterns[name] = 2;
      config["target_modules"].push_back(name);
    }
    config["rank_pattern"] = config["alpha_pattern"] = std::move(patterns);
    core::write_file(adapters_ / kAdapterConfig, config.dump());
  }

  /// Opens the adapters with their model and finds the rank and the scale of every module.
  void open() const {
    const Json none = Json::object();
    core::OptionReader own(none, "options");
    host_.registry().model_importers().get("peft").make(adapters_, own)->check(model_.model->parameters());
  }

  /// Returns the least processor time of several runs, in seconds.
  double time_to_open() const {
    double least = 1e9;
    for (int run = 0; run < 3; ++run) {
      const double begin = processor_time();
      open();
      least = std::min(least, processor_time() - begin);
    }
    return least;
  }

  testing::TemporaryFolder scratch_;
  path base_ = scratch_ / "base";
  path adapters_ = scratch_ / "adapters";
  mutable plugins::Host host_;
  plugins::LoadedModel model_;
};

/// Four times as many modules and names take four times the time, and not sixteen times as much.
TEST_F(PeftGrowth, PatternsAndModulesDoNotMultiply) {
  std::vector<double> seconds;
  for (const int scale : {1, 2, 4}) {
    write_adapters_of(48 * scale);
    add_names(3000 * scale);
    seconds.push_back(time_to_open());
  }
  EXPECT_GT(std::filesystem::file_size(adapters_ / kAdapterConfig), 800'000U);
  RecordProperty("seconds", fmt::format("{:.3f} {:.3f} {:.3f}", seconds[0], seconds[1], seconds[2]));
  constexpr double kNoise = 0.02;
  EXPECT_LT(seconds[1], 3 * seconds[0] + kNoise);
  EXPECT_LT(seconds[2], 7 * seconds[0] + kNoise);
  EXPECT_LT(seconds[2], 2 * fuzz::slowdown());
}

/// Each end of a module's name after a dot is looked up in the lists, so long names would take quadratic time.
TEST_F(PeftGrowth, LongNamesOfModulesAreRefused) {
  write_adapters_of(1);
  std::string module = "a";
  while (module.size() < 900'000) module += ".a";
  Json config = core::load_json((adapters_ / kAdapterConfig).string());
  config["target_modules"] = {module + "b"};
  core::write_file(adapters_ / kAdapterConfig, config.dump());
  const std::vector<formats::TensorSpec> specs = {{.name = tensor_name(module, kLoraA), .shape = {1, 2}},
                                                  {.name = tensor_name(module, kLoraB), .shape = {2, 1}}};
  formats::SafetensorsWriter writer(adapters_ / kAdapterWeights, specs, {});
  std::vector<float> values(2);
  for (int matrix = 0; matrix < 2; ++matrix)
    writer.write({values.data(), 1, 2, 2, tensor::DType::kF32, tensor::Device::kCpu});
  writer.finish();
  const double begin = processor_time();
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("bytes; names of tensors have at most 1000"));
  EXPECT_LT(processor_time() - begin, fuzz::slowdown());
}

}  // namespace
}  // namespace dragoman::imports
