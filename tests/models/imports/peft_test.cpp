// Low-rank adapters in the files of PEFT.
#include "error_message.h"
#include "test_data.h"

#include <functional>

#include <gmock/gmock.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/imports/adapters.h>
#include <dragoman/pipeline/scorer.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::imports {
namespace {

using core::Json;
using std::filesystem::path;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// What golden/make_peft.py made: adapters of models of golden/huggingface, and the log probabilities that PEFT gives.
class PeftFolder : public ::testing::TestWithParam<std::string> {
 protected:
  path folder() const { return testing::golden_file("peft") / GetParam(); }
  void expect_as_peft(const path& model) {
    pipeline::Scorer scorer(model, host_, {.threads = 1});
    const Json lines = core::load_json((folder() / "expected.json").string())["lines"];
    for (const Json& line : lines) {
      const pipeline::LinePair pair{
          .source = line["source"].get<std::string>(), .target = line["target"].get<std::string>(), .where = "line"};
      const pipeline::LineScore score = scorer.score({pair}).front();
      const Json& wanted = line["log_probabilities"];
      ASSERT_EQ(score.token_log_probabilities.size(), wanted.size()) << pair.target;
      for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(score.token_log_probabilities[i], wanted[i].get<double>(), 1e-4) << pair.target << ' ' << i;
    }
  }

  plugins::Host host_;
  TemporaryFolder scratch_;
};

TEST_P(PeftFolder, IsMergedWithTheModelThatItNames) {
  plugins::import_model(folder(), scratch_ / "merged", host_);
  expect_as_peft(scratch_ / "merged");
}

TEST_P(PeftFolder, IsMergedWithAModelFolderThatIsNamed) {
  plugins::import_model(testing::golden_file("huggingface") / GetParam(), scratch_ / "base", host_);
  plugins::import_model(folder(), scratch_ / "merged", host_, {.options = {{"base", (scratch_ / "base").string()}}});
  expect_as_peft(scratch_ / "merged");
}

INSTANTIATE_TEST_SUITE_P(Families, PeftFolder, ::testing::Values("marian", "flan-t5"),
                         [](const auto& family) { return family.param == "marian" ? "marian" : "t5"; });

/// A copy of the adapters of Marian, to be changed.
class ChangedPeftFolder : public ::testing::Test {
 protected:
  ChangedPeftFolder() {
    std::filesystem::copy(testing::golden_file("peft") / "marian", adapters());
    change({{"base_model_name_or_path", (testing::golden_file("huggingface") / "marian").string()}});
  }
  path adapters() const { return scratch_ / "adapters"; }
  void change(const Json& keys) const {
    Json json = core::load_json((adapters() / "adapter_config.json").string());
    json.update(keys);
    core::write_file(adapters() / "adapter_config.json", json.dump());
  }
  std::string error_of_import(const Json& options = Json::object()) {
    return error_of([&] { plugins::import_model(adapters(), scratch_ / "out", host_, {.options = options}); });
  }

  TemporaryFolder scratch_;
  plugins::Host host_;
};

TEST_F(ChangedPeftFolder, RefusesWhatItWouldNotMerge) {
  const std::pair<Json, const char*> cases[] = {
      {{{"peft_type", "IA3"}}, "peft_type is '\"IA3\"'"},
      {{{"use_dora", true}}, "use_dora"},
      {{{"bias", "all"}}, "bias"},
      {{{"modules_to_save", {"lm_head"}}}, "modules_to_save"},
      {{{"init_lora_weights", "pissa"}}, "init_lora_weights"},
      {{{"rank_pattern", {{"fc[12]", 2}}}}, "rank_pattern"},
      {{{"rank_pattern", {{"fc1", 3}}}}, "r of the module"},
      {{{"lora_alpha", "many"}}, "lora_alpha"},
      {{{"r", 0}}, "r is"},
  };
  const Json before = core::load_json((adapters() / "adapter_config.json").string());
  for (const auto& [keys, message] : cases) {
    core::write_file(adapters() / "adapter_config.json", before.dump());
    change(keys);
    EXPECT_THAT(error_of_import(), ::testing::AllOf(HasSubstr("adapter_config.json"), HasSubstr(message)))
        << keys.dump();
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "out"));
  }
}

TEST_F(ChangedPeftFolder, SaysWhichModelIsMissingOrAnother) {
  change({{"base_model_name_or_path", "Helsinki-NLP/opus-mt-en-de"}});
  EXPECT_THAT(error_of_import(), ::testing::AllOf(HasSubstr("Helsinki-NLP/opus-mt-en-de"), HasSubstr("`base`")));
  const path wider = testing::source_folder() / "examples/multi30k/model";
  EXPECT_THAT(error_of_import({{"base", wider.string()}}), HasSubstr("lora_A.weight"));
  EXPECT_THAT(error_of_import({{"base", (testing::golden_file("huggingface") / "flan-t5").string()}}),
              HasSubstr("no linear layer"));
}

TEST_F(ChangedPeftFolder, IsMergedWhetherOrNotItWasCheckedBefore) {
  const Json options = Json::object();
  const auto values_of = [&](bool checked) {
    core::OptionReader own(options, "options");
    const auto foreign = host_.registry().model_importers().get("peft").make(adapters(), own);
    const plugins::ModelDescription described = foreign->describe();
    const auto model = host_.registry().models().get(described.model_type).make(described.sequences, described.model);
    nn::ParameterStore& store = model->parameters();
    if (checked) foreign->check(store);
    store.allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
    std::vector<float> values;
    for (const nn::Parameter& parameter : store.all()) {
      foreign->read(parameter, parameter.value);
      const float* first = parameter.value.as<float>();
      values.insert(values.end(), first, first + parameter.value.size());
    }
    foreign->finish();  // all adapters were read
    return values;
  };
  EXPECT_EQ(values_of(true), values_of(false));
}

TEST_F(ChangedPeftFolder, NeedsBothMatricesOfAPair) {
  // The name of one B is spelled otherwise.
  std::string bytes = core::read_file(adapters() / "adapter_model.safetensors");
  const std::size_t place = bytes.find("lora_B");
  ASSERT_NE(place, std::string::npos);
  bytes.replace(place, 6, "lora_C");
  core::write_file(adapters() / "adapter_model.safetensors", bytes);
  EXPECT_THAT(error_of_import(), HasSubstr("lora_B.weight"));
}

/// Values that are exact in all sums.
std::vector<float> numbers(std::size_t count, int seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>((static_cast<int>(i) * 7 + seed * 3) % 9 - 4) / 8);
  return values;
}

TEST(PeftWriter, WritesWhatIsMergedToTheSumThatItStandsFor) {
  TemporaryFolder scratch;
  plugins::Host host;
  plugins::import_model(testing::golden_file("huggingface") / "marian", scratch / "base", host);
  const plugins::LoadedModel base = plugins::load_model(scratch / "base", host);
  AdapterSet set{.model_type = "transformer",
                 .model = base.config.model,
                 .base = scratch / "base",
                 .rank = 2,
                 .alpha = 4,
                 .weights = {}};
  std::vector<std::vector<float>> values;
  values.reserve(8);
  const auto add = [&](const char* name, int projections) {
    const nn::Parameter& weight = *base.model->parameters().find(name);
    const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
      auto& data = values.emplace_back(numbers(static_cast<std::size_t>(rows * cols), static_cast<int>(values.size())));
      return tensor::Tensor{data.data(), rows, cols, cols, tensor::DType::kF32, tensor::Device::kCpu};
    };
    const tensor::Tensor a = matrix(projections * 2, weight.cols), b = matrix(weight.rows, 2);
    set.weights.push_back({.parameter = name, .projections = projections, .a = a, .b = b});
  };
  add("encoder.layers.0.self_attention.qkv.weight", 3);
  add("decoder.layers.1.feed_forward.in.weight", 1);
  // As if its projections were not known: one module of twice the rank, under the name that it has here.
  add("decoder.layers.0.self_attention.qkv.weight", 1);
  for (const std::string& type : {std::string("transformer"), std::string("unknown-to-transformers")}) {
    set.model_type = type;
    write_adapters(scratch / "adapters", set);
    plugins::import_model(scratch / "adapters", scratch / "merged", host);
    const plugins::LoadedModel merged = plugins::load_model(scratch / "merged", host);
    for (const WeightAdapter& adapter : set.weights) {
      const tensor::Tensor& before = base.model->parameters().find(adapter.parameter)->value;
      const tensor::Tensor& after = merged.model->parameters().find(adapter.parameter)->value;
      const std::int64_t share = before.rows / adapter.projections;
      for (std::int64_t row = 0; row < before.rows; ++row)
        for (std::int64_t col = 0; col < before.cols; ++col) {
          const std::int64_t first = row / share * 2;
          const float sum = adapter.b.row<float>(row)[0] * adapter.a.row<float>(first)[col] +
                            adapter.b.row<float>(row)[1] * adapter.a.row<float>(first + 1)[col];
          ASSERT_NEAR(after.row<float>(row)[col], before.row<float>(row)[col] + 2 * sum, 1e-6)
              << type << ' ' << adapter.parameter << ' ' << row << ' ' << col;
        }
    }
  }
}

TEST(PeftWriter, DoesNotReplaceWhatIsNoFolderOfAdapters) {
  TemporaryFolder scratch;
  std::filesystem::create_directory(scratch / "mine");
  core::write_file(scratch / "mine" / "letter.txt", "dear");
  EXPECT_THAT(error_of([&] { require_room_for_adapters(scratch / "mine"); }), HasSubstr("in the way"));
  require_room_for_adapters(scratch / "new");
}

}  // namespace
}  // namespace dragoman::imports
