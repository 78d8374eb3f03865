// model.from, training.train_only and training.freeze.
#include "small_task.h"
#include "test_data.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::SmallTask;
using testing::train;

class FineTuning : public ::testing::Test {
 protected:
  void SetUp() override {
    train(task_.config({"output=" + task_.file("base").string(), "training.updates=16"}));
    formats::write_decoding_defaults(base(), base(), {{"alpha", 1.4}});
  }

  std::filesystem::path base() const { return task_.file("base") / "last"; }

  /// Of a run that begins with the base model.
  core::Json tree(const std::string& run, const std::vector<std::string>& assignments = {}) const {
    core::Json tree = task_.tree();
    tree["output"] = task_.file(run).string();
    tree["model"] = {{"from", base().string()}};
    tree["data"].erase("tokenizer");
    tree["training"]["updates"] = 8;
    for (const std::string& assignment : assignments) core::set_option(tree, assignment);
    return tree;
  }
  TrainingConfig config(const std::string& run, const std::vector<std::string>& assignments = {}) const {
    return read_training_config(tree(run, assignments), "fine-tuning");
  }

  /// The values of a model folder by name.
  static std::map<std::string, std::vector<float>> values(const std::filesystem::path& folder) {
    plugins::Host host;
    const plugins::LoadedModel loaded = plugins::load_model(folder, host);
    std::map<std::string, std::vector<float>> values;
    for (const nn::Parameter& parameter : loaded.model->parameters().all()) {
      const auto* data = parameter.value.as<float>();
      values[parameter.name] = {data, data + parameter.rows * parameter.cols};
    }
    return values;
  }
  std::map<std::string, std::vector<float>> values_of(const std::string& run) const {
    return values(task_.file(run) / "last");
  }

  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::string refused(const std::vector<std::string>& assignments) const {
    return error_of([&] { train(config("refused", assignments)); });
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
};

TEST_F(FineTuning, BeginsWithTheFoldersModelTokenizersAndDecodingDefaults) {
  train(config("same", {"training.updates=1", "training.schedule.learning_rate=1e-30"}));
  EXPECT_EQ(values_of("same"), values(base()));
  const auto tuned = formats::ModelFolder::open(task_.file("same") / "last");
  const auto before = formats::ModelFolder::open(base());
  EXPECT_EQ(tuned.config().decoding, before.config().decoding);
  EXPECT_EQ(nn::to_json(tuned.config().sequences), nn::to_json(before.config().sequences));
  EXPECT_EQ(core::read_file(task_.file("same") / "last" / "tokenizer.json"),
            core::read_file(base() / "tokenizer.json"));
}

TEST_F(FineTuning, TrainsOnlyWhatThePatternsLeave) {
  train(config("some", {"training.train_only=[decoder.*, embedding.*]", "training.freeze=[decoder.*.bias]"}));
  const auto before = values(base());
  std::size_t changed = 0;
  for (const auto& [name, after] : values_of("some")) {
    const bool trained = (name.starts_with("decoder.") && !name.ends_with(".bias")) || name.starts_with("embedding.");
    EXPECT_EQ(after != before.at(name), trained) << name;
    changed += trained ? 1 : 0;
  }
  EXPECT_GT(changed, 4U);
  EXPECT_LT(changed, before.size());
}

TEST_F(FineTuning, KeysOfTheConfigurationGoBeforeTheFolders) {
  const core::Json resolved =
      resolved_configuration(config("run", {"model.dropout.attention=0.25"}), make_environment(testing::host()));
  EXPECT_EQ(resolved["model"]["dropout"]["attention"], 0.25);
  EXPECT_EQ(resolved["model"]["dropout"]["embedding"], 0.1);
  EXPECT_EQ(resolved["model"]["d_model"], 16);
  EXPECT_EQ(resolved["model"]["maximum_source_length"], 32);
  EXPECT_EQ(resolved["data"]["tokenizer"]["file"], (base() / "tokenizer.json").string());
  EXPECT_THAT(refused({"model.d_model=32"}), HasSubstr("d_model"));
}

TEST_F(FineTuning, GoesOnWithoutTheFolder) {
  train(config("whole"));
  train(config("parts", {"training.updates=4"}));
  std::filesystem::rename(base(), task_.file("elsewhere"));
  train(config("parts"), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("parts", 8), task_.checkpoint_bytes("whole", 8));
  EXPECT_THAT(error_of([&] { train(config("parts", {"training.freeze=[decoder.*]"}), StartMode::kResume); }),
              HasSubstr("training.freeze"));
}

TEST_F(FineTuning, CarriesPiecesOverToAnotherVocabulary) {
  tokenizer::LearnOptions options;
  options.vocab_size = 16;
  options.byte_fallback = false;
  options.threads = 1;
  core::write_file(task_.file("more"), core::read_file(task_.file("train.target")) + "xyzzy xyxy\n");
  tokenizer::learn_bpe({task_.file("more")}, options).save(task_.file("other.json"));
  train(config("other", {"training.updates=1", "training.schedule.learning_rate=1e-30",
                         "data.tokenizer=" + task_.file("other.json").string()}));
  const auto tokenizer = [](const std::filesystem::path& file) {
    return tokenizer::BpeTokenizer::parse(core::read_file(file), file.string());
  };
  const tokenizer::BpeTokenizer before = tokenizer(base() / "tokenizer.json");
  const tokenizer::BpeTokenizer after = tokenizer(task_.file("other.json"));
  const auto old_values = values(base());
  const auto new_values = values_of("other");
  for (const auto& [name, value] : new_values) {
    if (name == "embedding.weight") continue;
    EXPECT_EQ(value, old_values.at(name)) << name;
  }
  const std::vector<float>& old_table = old_values.at("embedding.weight");
  const std::vector<float>& new_table = new_values.at("embedding.weight");
  ASSERT_EQ(new_table.size(), 16U * static_cast<std::size_t>(after.size()));
  ASSERT_NE(after.size(), before.size());
  std::int32_t carried = 0;
  for (std::int32_t id = 0; id < after.size(); ++id) {
    const std::optional<std::int32_t> old_id = before.id(after.piece(id));
    if (!old_id) continue;
    ++carried;
    for (std::int32_t i = 0; i < 16; ++i)
      EXPECT_EQ(new_table[static_cast<std::size_t>(id * 16 + i)], old_table[static_cast<std::size_t>(*old_id * 16 + i)])
          << after.piece(id);
  }
  EXPECT_GT(carried, 8);
  EXPECT_LT(carried, after.size());
}

/// One decoder layer more, and a wider feed-forward network: what has the folder's names and shapes begins with its
/// values, and the rest as in a new model.
TEST_F(FineTuning, TakesTheParametersThatMatch) {
  const std::vector<std::string> other_shape = {"model.decoder_layers=2", "model.feed_forward=24", "training.updates=1",
                                                "training.schedule.learning_rate=1e-30"};
  EXPECT_THAT(refused(other_shape), HasSubstr("feed_forward"));
  std::vector<std::string> matching = other_shape;
  matching.push_back("model.from_matching=true");
  train(config("matching", matching));
  core::Json anew = tree("anew", other_shape);
  anew["model"] = task_.tree()["model"];
  anew["data"] = task_.tree()["data"];
  for (const auto& [key, value] : {std::pair{"decoder_layers", 2}, std::pair{"feed_forward", 24}})
    anew["model"][key] = value;
  train(read_training_config(anew, "anew"));

  const auto before = values(base());
  const auto initial = values_of("anew");
  std::size_t taken = 0;
  for (const auto& [name, value] : values_of("matching")) {
    const auto found = before.find(name);
    const bool matches = found != before.end() && found->second.size() == value.size();
    // Zeros are moved by the learning rate.
    EXPECT_THAT(value, Pointwise(FloatNear(1e-29F), matches ? found->second : initial.at(name))) << name;
    taken += matches ? 1 : 0;
  }
  EXPECT_GT(taken, before.size() / 2);
  EXPECT_LT(taken, before.size());
}

TEST_F(FineTuning, MatchingGoesOnWithoutTheFolder) {
  const std::string matching = "model.from_matching=true";
  train(config("whole", {matching, "model.decoder_layers=2"}));
  train(config("parts", {matching, "model.decoder_layers=2", "training.updates=4"}));
  std::filesystem::rename(base(), task_.file("elsewhere"));
  train(config("parts", {matching, "model.decoder_layers=2"}), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("parts", 8), task_.checkpoint_bytes("whole", 8));
}

TEST_F(FineTuning, MatchingNeedsSomethingThatMatches) {
  const std::string matching = "model.from_matching=true";
  EXPECT_THAT(refused({matching, "model.d_model=24", "model.feed_forward=40"}), HasSubstr("no parameter"));
  EXPECT_THAT(refused({matching, "training.lora.rank=2"}), HasSubstr("from_matching"));
  EXPECT_THAT(error_of([&] { task_.config({matching}); }), HasSubstr("names no folder"));
}

/// The special tokens of a fork are found in its tokenizer.
TEST_F(FineTuning, ForksWithAnotherTokenizer) {
  train(config("fork", {"training.updates=4"}));
  core::Json tokenizer = core::load_json(base() / "tokenizer.json");
  std::swap(tokenizer["model"]["vocab"]["<s>"], tokenizer["model"]["vocab"]["</s>"]);
  for (core::Json& added : tokenizer["added_tokens"]) added["id"] = tokenizer["model"]["vocab"][added["content"]];
  core::write_file(task_.file("swapped.json"), tokenizer.dump());
  train(config("fork", {"data.tokenizer=" + task_.file("swapped.json").string()}), StartMode::kFork);
  const auto before = formats::ModelFolder::open(base()).config().sequences;
  const auto after = formats::ModelFolder::open(task_.file("fork") / "last").config().sequences;
  EXPECT_EQ(after.begin, before.end);
  EXPECT_EQ(after.end, before.begin);
}

/// A model of two languages, whose tags are ordinary pieces.
class FineTuningOfLanguages : public FineTuning {
 protected:
  void SetUp() override {
    FineTuning::SetUp();
    plugins::Host host;
    const plugins::LoadedModel loaded = plugins::load_model(base(), host);
    table_.languages = {{"de", {.source_prefix = {4}, .target_prefix = {5}}},
                        {"en", {.source_prefix = {6}, .source_prefix_as_target = {8}, .target_prefix = {7}}}};
    formats::write_model_folder(base(), {.model_type = loaded.config.model_type,
                                         .model = loaded.model.get(),
                                         .tokenizer = formats::ModelFolder(base()).tokenizers().joint,
                                         .languages = table_});
  }

  TrainingConfig tagged(const std::string& run, std::vector<std::string> assignments = {}) const {
    assignments.insert(assignments.begin(), {"data.source_language=de", "data.target_language=en"});
    return config(run, assignments);
  }

  formats::LanguageTable table_;
};

TEST_F(FineTuningOfLanguages, ValidatesAndExportsWhatTranslatesSo) {
  train(tagged("run", {"training.updates=30", "validation.beam_size=3"}));
  const std::filesystem::path model = task_.file("run") / "best";
  EXPECT_EQ(formats::load_model_config(model).languages, table_);
  const auto lines = [&](const std::string& name) {
    std::ifstream file(task_.file(name));
    std::vector<std::string> read;
    for (std::string line; std::getline(file, line);) read.push_back(line);
    return read;
  };
  plugins::Host host;
  const auto bleu = [&](const pipeline::LanguagePair& languages) {
    pipeline::TranslateOptions options;
    options.search.beam_size = 3;
    options.languages = languages;
    const auto texts = pipeline::Translator(pipeline::Model(model, host), options).translate(lines("valid.source"));
    const std::vector<std::vector<std::string>> references{lines("valid.target")};
    return evaluation::corpus_bleu(texts, references).value;
  };
  double recorded = -1;
  for (const std::string& line : lines("run/metrics.jsonl"))
    if (const core::Json json = core::parse_json(line, "metrics"); json["type"] == "validation")
      recorded = json["BLEU"].get<double>();
  EXPECT_GT(recorded, 1);
  EXPECT_NEAR(bleu({"de", "en"}), recorded, 1e-9);
  EXPECT_GT(std::abs(bleu({"en", "de"}) - recorded), 1e-3);  // tags make a difference
}

TEST_F(FineTuningOfLanguages, GoesOnWithoutTheFolder) {
  train(tagged("whole"));
  train(tagged("parts", {"training.updates=4"}));
  std::filesystem::rename(base(), task_.file("elsewhere"));
  train(tagged("parts"), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("parts", 8), task_.checkpoint_bytes("whole", 8));
  EXPECT_EQ(formats::load_model_config(task_.file("parts") / "last").languages, table_);
  EXPECT_THAT(error_of([&] { train(tagged("parts", {"data.target_language=de"}), StartMode::kResume); }),
              HasSubstr("data.target_language"));
  EXPECT_THAT(error_of([&] {
                train(tagged("parts", {"data.tokenizer=" + task_.file("tokenizer.json").string()}), StartMode::kFork);
              }),
              HasSubstr("data.tokenizer"));
}

TEST_F(FineTuningOfLanguages, HasToBeToldWhichOnesAreMeant) {
  EXPECT_THAT(refused({}), AllOf(HasSubstr("data.source_language"), HasSubstr("de")));
  EXPECT_THAT(refused({"data.source_language=de", "data.target_language=fr"}), HasSubstr("fr"));
  EXPECT_THAT(refused({"data.source_language=de", "data.target_language=en",
                       "data.tokenizer=" + task_.file("tokenizer.json").string()}),
              HasSubstr("data.tokenizer"));
  EXPECT_THAT(error_of([&] { task_.config({"data.source_language=de"}); }), HasSubstr("model.from"));
}

TEST_F(FineTuning, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(refused({"model.from=" + task_.file("train.source").string()}),
              AllOf(HasSubstr("model.from"), HasSubstr("convert")));
  EXPECT_THAT(
      refused({"model.from=" + task_.file("base").string()}),
      AllOf(HasSubstr("model.from"), HasSubstr("is a training run and no model"), HasSubstr("the models best, last")));
  EXPECT_THAT(refused({"training.freeze=[decoder.layer.*]"}), HasSubstr("decoder.layer.*"));
  EXPECT_THAT(refused({"training.freeze=[\"*\"]"}), HasSubstr("leave no parameter"));
  EXPECT_THAT(refused({"model.no_such_key=1"}), HasSubstr("no_such_key"));
  EXPECT_THAT(error_of([&] { config("run", {"training.freeze=decoder.*"}); }), HasSubstr("list"));
  core::Json without = tree("run");
  without["model"].erase("from");
  EXPECT_THAT(error_of([&] { read_training_config(without, "run.yml"); }), HasSubstr("data.tokenizer is missing"));
  train(task_.config({"output=" + task_.file("plain").string(), "training.updates=2"}));
  EXPECT_THAT(error_of([&] { train(config("plain"), StartMode::kResume); }), HasSubstr("did not begin with"));
  EXPECT_FALSE(std::filesystem::exists(task_.file("refused")));
}

}  // namespace
}  // namespace dragoman::training
