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
    pipeline::Scorer scorer(pipeline::Model(model, host_, {.threads = 1}), {});
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
      {{{"init_lora_weights", "olora"}}, "init_lora_weights"},
      {{{"fan_in_fan_out", true}}, "fan_in_fan_out"},
      {{{"lora_bias", true}}, "lora_bias"},
      {{{"use_qalora", true}}, "use_qalora"},
      {{{"alora_invocation_tokens", {1, 2}}}, "alora_invocation_tokens"},
      {{{"trainable_token_indices", {5}}}, "trainable_token_indices"},
      {{{"target_parameters", {"experts.weight"}}}, "target_parameters"},
      {{{"arrow_config", {{"top_k", 3}}}}, "arrow_config"},
      {{{"ensure_weight_tying", true}}, "ensure_weight_tying"},
      {{{"layer_replication", Json::array({Json::array({0, 1})})}}, "layer_replication"},
      {{{"megatron_config", {{"hidden", 8}}}}, "megatron_config"},
      {{{"a_key_of_next_year", "yes"}}, "'a_key_of_next_year' is '\"yes\"'"},
      {{{"a_key_of_next_year", 0}}, "a_key_of_next_year"},
      {{{"a_key_of_next_year", ""}}, "a_key_of_next_year"},
      {{{"rank_pattern", {{"fc[12]", 2}}}}, "rank_pattern"},
      {{{"rank_pattern", {{"fc1", 3}}}}, "r of the module"},
      {{{"lora_alpha", "many"}}, "lora_alpha"},
      {{{"r", 0}}, "r is '0'; it must be a number above 0, and at most 65536"},
      {{{"r", std::int64_t{1} << 40}}, "r is '1099511627776'; it must be a number above 0, and at most 65536"},
      {{{"lora_alpha", 1e10}}, "at most 1000000000"},
      {{{"target_modules", {"fc1", "q_proj", "v_proj"}}}, "target_modules is"},
      {{{"target_modules", {"fc1", "proj", "q_proj", "v_proj"}}}, "target_modules is"},
      {{{"target_modules", Json::array()}}, "target_modules is"},
      {{{"target_modules", "q_proj"}}, "target_modules is"},
      {{{"target_modules", 7}}, "target_modules must be a name or a list of names"},
      {{{"exclude_modules", {"fc1"}}}, "exclude_modules is '[\"fc1\"]', which leaves out the module 'model."},
      {{{"layers_to_transform", {0}}}, "layers_to_transform is '[0]', which leaves out the module 'model."},
      {{{"layers_to_transform", 1}}, ".layers.0."},
      {{{"layers_to_transform", {0, 1}}, {"layers_pattern", "blocks"}}, "layers_to_transform is"},
      {{{"layers_to_transform", "all"}}, "layers_to_transform must be the index of a layer or a list of them"},
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

/// All that PEFT 0.18 writes for adapters that are nothing else, and what a later version might add.
TEST_F(ChangedPeftFolder, TakesWhatChangesNothing) {
  change({{"task_type", "SEQ_2_SEQ_LM"},
          {"auto_mapping", {{"base_model_class", "MarianMTModel"}}},
          {"peft_version", "0.18.0"},
          {"revision", "main"},
          {"inference_mode", true},
          {"exclude_modules", "lm_head"},
          {"layers_to_transform", {0, 1}},
          {"layers_pattern", "layers"},
          {"lora_dropout", 0.1},
          {"fan_in_fan_out", false},
          {"bias", "none"},
          {"use_dora", false},
          {"use_qalora", false},
          {"qalora_group_size", 16},
          {"lora_bias", false},
          {"alora_invocation_tokens", nullptr},
          {"trainable_token_indices", nullptr},
          {"target_parameters", Json::array()},
          {"arrow_config", nullptr},
          {"ensure_weight_tying", false},
          {"loftq_config", Json::object()},
          {"eva_config", {{"rho", 2.0}}},
          {"corda_config", nullptr},
          {"megatron_core", "megatron.core"},
          {"megatron_config", nullptr},
          {"layer_replication", nullptr},
          {"modules_to_save", nullptr},
          {"init_lora_weights", "gaussian"},
          {"a_key_of_next_year", false}});
  EXPECT_EQ(error_of_import(), "no error");
}

/// Of regular expressions nothing is known, and PEFT reads further keys only beside a list.
TEST_F(ChangedPeftFolder, TakesKeysThatSelectItsModules) {
  const Json before = core::load_json((adapters() / "adapter_config.json").string());
  const Json cases[] = {
      {{"target_modules", ".*(fc1|proj)"}, {"layers_to_transform", {7}}},
      {{"target_modules", "all-linear"}},
      {{"target_modules", nullptr}},
      {{"target_modules", {"fc1", "self_attn.out_proj", "encoder_attn.out_proj", "q_proj", "v_proj", "another"}}},
      {{"exclude_modules", {"fc", "lm_head"}}},
      {{"exclude_modules", Json::array()}, {"layers_to_transform", Json::array()}},
      {{"layers_to_transform", {0, 1}}, {"layers_pattern", {"blocks", "layers"}}},
      {{"layers_to_transform", {7}}, {"layers_pattern", "h|layers"}},
  };
  for (const Json& keys : cases) {
    core::write_file(adapters() / "adapter_config.json", before.dump());
    change(keys);
    EXPECT_EQ(error_of_import(), "no error") << keys.dump();
    std::filesystem::remove_all(scratch_ / "out");
  }
}

/// As Python reads it.
TEST_F(ChangedPeftFolder, OfAKeyThatIsThereTwiceTheLastValueCounts) {
  const std::string before = core::read_file(adapters() / "adapter_config.json");
  core::write_file(adapters() / "adapter_config.json", R"({"r": 99, )" + before.substr(1));
  EXPECT_EQ(error_of_import(), "no error");
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
    const formats::ModelConfig& config = foreign->config();
    const auto model = host_.registry().models().get(config.model_type).make(config.sequences, config.model);
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

/// A configuration from a stranger may name any folder that the user can read, and only as a model, whose words no
/// message repeats at length.
TEST_F(ChangedPeftFolder, OpensTheFolderThatItNamesUnlessAnotherIsNamed) {
  const path elsewhere = scratch_ / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  core::write_file(elsewhere / "config.json", "a secret " + std::string(5000, 's'));
  for (const std::string& name : {elsewhere.string(), std::string("../elsewhere")}) {
    change({{"base_model_name_or_path", name}});
    const std::string error = error_of_import();
    EXPECT_THAT(error, HasSubstr("elsewhere"));
    EXPECT_LT(error.size(), 1000U);
    EXPECT_THAT(error, ::testing::Not(HasSubstr(std::string(120, 's'))));
    const path base = testing::golden_file("huggingface") / "marian";
    EXPECT_EQ(error_of_import({{"base", base.string()}}), "no error")
        << "the one that the user names is opened instead";
    std::filesystem::remove_all(scratch_ / "out");
  }
}

/// The merged folder's sums would vouch for the base's weights.
TEST_F(ChangedPeftFolder, DoesNotVouchForADamagedBase) {
  const path base = scratch_ / "base";
  plugins::import_model(testing::golden_file("huggingface") / "marian", base, host_);
  std::string weights = core::read_file(base / "model.safetensors");
  weights.back() = static_cast<char>(weights.back() ^ 1);
  core::write_file(base / "model.safetensors", weights);
  EXPECT_THAT(error_of_import({{"base", base.string()}}), HasSubstr("damaged or was changed"));
  weights.replace(weights.size() - 4, 4, std::string("\0\0\xC0\x7F", 4));
  core::write_file(base / "model.safetensors", weights);
  std::filesystem::remove(base / "SHA256SUMS");
  EXPECT_THAT(error_of_import({{"base", base.string()}}), HasSubstr("is nan"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "out"));
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
