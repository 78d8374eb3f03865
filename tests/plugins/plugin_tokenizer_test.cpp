#include "error_message.h"
#include "planted/letters.h"
#include "program.h"
#include "small_task.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/formats/average.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/plugins/open_tokenizer.h>
#include <dragoman/training/trainer.h>

namespace dragoman {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using tokenizer::TokenizerSpec;
using training::StartMode;
using training::testing::SmallTask;

const fs::path kPlanted = testing::built("planted_plugins");
const std::string kGood = (kPlanted / "good.so").string();
const std::string kLetters = "_abcd\n";

/// What the letters become, by hand.
std::vector<std::int32_t> ids_of(std::string_view text) {
  std::vector<std::int32_t> ids;
  for (const char letter : text) ids.push_back(letter == ' ' ? 3 : letter - 'a' + 4);
  return ids;
}

/// A training task whose tokenizer comes from a plugin.
class PluginTokenizer : public ::testing::Test {
 protected:
  PluginTokenizer() { core::write_file(file("letters"), kLetters); }

  fs::path file(const std::string& name) const { return task_.file(name); }
  std::string entry() const { return "{file: " + file("letters").string() + ", type: letters}"; }

  training::TrainingConfig config(std::vector<std::string> assignments = {}) const {
    assignments.insert(assignments.begin(), "data.tokenizer=" + entry());
    return task_.config(assignments);
  }
  training::TrainingSummary train(const training::TrainingConfig& config, StartMode mode = StartMode::kFresh) const {
    return training::testing::train(config, mode, {}, training::make_environment(host_));
  }

  testing::TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
  plugins::Host host_{{.plugins = {kGood}}};
};

TEST_F(PluginTokenizer, IsOpenedByItsType) {
  const auto tokenizer = plugins::open_tokenizer(host_.registry(), file("letters"), {.type = "letters"});
  EXPECT_EQ(tokenizer->encode("ab d"), ids_of("ab d"));
  EXPECT_EQ(tokenizer->encode("A"), std::vector<std::int32_t>{0});
  const auto upper = plugins::open_tokenizer(host_.registry(), file("letters"),
                                             {.type = "letters", .options = core::Json{{"upper", true}}});
  EXPECT_EQ(upper->encode("A"), ids_of("a"));
}

TEST_F(PluginTokenizer, WhatIsWrongIsNamed) {
  const auto error = [&](const TokenizerSpec& kind, const char* name = "letters") {
    return error_of([&] { plugins::open_tokenizer(host_.registry(), file(name), kind); });
  };
  EXPECT_THAT(error({.type = "leters"}), AllOf(HasSubstr("no tokenizer is called 'leters', did you mean 'letters'?"),
                                               HasSubstr("sentencepiece"), HasSubstr("`plugin`")));
  EXPECT_THAT(error({.type = "letters", .options = core::Json{{"uper", true}}}),
              AllOf(HasSubstr("letters: options of the tokenizer: unknown key 'uper'"), HasSubstr("'upper'")));
  EXPECT_THAT(error({.type = "letters"}, "none"), HasSubstr("none: cannot open"));
  EXPECT_THAT(error({.options = core::Json{{"upper", true}}}), HasSubstr("name it as tokenizer_type"));
  core::write_file(file("letters"), "aa");
  EXPECT_THAT(error({.type = "letters"}), HasSubstr("stands there twice"));
}

TEST_F(PluginTokenizer, BuiltInKindsHaveNamesInTheSameRegistry) {
  const fs::path golden = testing::in_source("tests/tokenizer/golden");
  const std::pair<const char*, const char*> named[] = {{"youtokentome", "youtokentome.model"},
                                                       {"sentencepiece", "sentencepiece_unigram_plain.model"},
                                                       {"tokenizer-json", "default.tokenizer.json"},
                                                       {"subword-nmt", "subword_nmt.codes02"},
                                                       {"fastbpe", "fastbpe.codes"},
                                                       {"tiktoken", "ranks.tiktoken"}};
  for (const auto& [type, name] : named) {
    const auto by_name = plugins::open_tokenizer(host_.registry(), golden / name, {.type = type});
    const auto by_content = plugins::open_tokenizer(host_.registry(), golden / name);
    for (const char* text : {"Hello world", "Das ist ein Satz."})
      EXPECT_EQ(by_name->encode(text), by_content->encode(text)) << type;
  }
}

TEST_F(PluginTokenizer, ATrainedModelHoldsItsFileAndNamesIt) {
  train(config({"validation.every=8", "checkpoint.average=2"}));
  for (const char* name : {"best", "last", "average"}) {
    const fs::path model = file("run") / name;
    EXPECT_EQ(core::read_file(model / "tokenizer.model"), kLetters) << name;
    EXPECT_FALSE(fs::exists(model / "tokenizer.json")) << name;
    EXPECT_NO_THROW(formats::verify_checksums(model));
    EXPECT_EQ(core::load_json(model / "config.json")["tokenizer"].dump(), R"({"type":"letters","plugin":"good"})");
  }
  EXPECT_EQ(core::read_file(file("run") / "tokenizer.model"), kLetters);
  const plugins::LoadedModel loaded = plugins::load_model(file("run") / "best", host_);
  EXPECT_EQ(loaded.source_tokenizer->encode("a b"), ids_of("a b"));
  EXPECT_EQ(loaded.source_tokenizer, loaded.target_tokenizer);
  formats::average_models({file("run") / "best", file("run") / "last"}, file("mean"));
  EXPECT_NO_THROW(plugins::load_model(file("mean"), host_));
}

/// The tokenizer is there to be seen in what the model learns: the small task reverses letters.
TEST_F(PluginTokenizer, TranslatesWithIt) {
  train(config());
  pipeline::Translator translator(pipeline::Model(file("run") / "last", host_, {.threads = 1}), {});
  const std::string translation = translator.translate("a b c");
  EXPECT_FALSE(translation.empty());
  EXPECT_EQ(translation.find_first_not_of("abcd "), std::string::npos) << translation;
}

TEST_F(PluginTokenizer, AnInterruptedTrainingGoesOnToTheSameBytes) {
  train(config({"output=" + file("whole").string()}));
  train(config({"training.updates=9"}));
  fs::remove(file("letters"));  // its copy is in the run
  train(config(), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
  EXPECT_EQ(core::read_file(file("run") / "last/tokenizer.model"), kLetters);
}

TEST_F(PluginTokenizer, ARunDoesNotGoOnWithAnotherKind) {
  train(config({"training.updates=9"}));
  const std::string upper =
      "data.tokenizer={file: " + file("letters").string() + ", type: letters, options: {upper: true}}";
  EXPECT_THAT(error_of([&] { train(config({upper}), StartMode::kResume); }),
              AllOf(HasSubstr("differs in what affects results"), HasSubstr("upper")));
  EXPECT_NO_THROW(train(config({upper}), StartMode::kFork));
  EXPECT_EQ(core::load_json(file("run") / "last/config.json")["tokenizer"]["options"].dump(), R"({"upper":true})");
}

TEST_F(PluginTokenizer, WhatIsWrongInATrainingConfigurationIsNamed) {
  const auto error = [&](const std::string& tokenizer) {
    return error_of([&] { train(task_.config({"data.tokenizer=" + tokenizer})); });
  };
  const std::string path = file("letters").string();
  EXPECT_THAT(error("{file: " + path + "}"), HasSubstr("tokenizer: the key 'type' is missing"));
  EXPECT_THAT(error("{type: letters}"), HasSubstr("tokenizer: the key 'file' is missing"));
  EXPECT_THAT(error("{source: " + path + "}"), HasSubstr("tokenizer: target: is missing"));
  EXPECT_THAT(error("{source: " + path + ", target: 3}"), HasSubstr("must be the name of a file, or {file: FILE"));
  EXPECT_THAT(error("{file: " + path + ", type: letters, options: 3}"),
              HasSubstr("options: must hold keys and values"));
  EXPECT_THAT(error("{file: " + path + ", type: leters}"), HasSubstr("did you mean 'letters'?"));
  EXPECT_THAT(error("{file: " + path + ", type: letters, options: {uper: 1}}"), HasSubstr("unknown key 'uper'"));
  EXPECT_THAT(error_of([&] { train(config({"data.special_tokens.end=a"})); }),
              HasSubstr("names 'a', which is an ordinary piece"));
  EXPECT_FALSE(fs::exists(file("run")));
}

TEST_F(PluginTokenizer, AUnigramModelIsTrainedWithWhereItsKindIsNamed) {
  const std::string model = testing::in_source("tests/tokenizer/golden/sentencepiece_unigram_plain.model");
  train(task_.config({"training.updates=3", "data.tokenizer={file: " + model + ", type: sentencepiece}"}));
  EXPECT_EQ(core::read_file(file("run") / "last/tokenizer.model"), core::read_file(model));
  EXPECT_NO_THROW(plugins::load_model(file("run") / "last", host_));
}

// --- models whose plugin is not there ---

TEST_F(PluginTokenizer, AModelLoadsTheInstalledPluginOrSaysThatItIsNeeded) {
  train(config({"training.updates=3"}));
  const fs::path model = file("run") / "last";
  plugins::Host installed({.plugin_folder = kPlanted});
  EXPECT_NO_THROW(plugins::load_model(model, installed));
  EXPECT_NE(installed.loader().find("good"), nullptr);
  plugins::Host bare({.plugin_folder = kPlanted});
  EXPECT_THAT(error_of([&] { plugins::load_model(model, bare, {.may_load_plugin = false}); }),
              AllOf(HasSubstr("config.json: tokenizer: the tokenizer needs the plugin 'good'"), HasSubstr("`plugin`")));
  core::write_file(model / "config.json", [&] {
    core::Json config = core::load_json(model / "config.json");
    config["tokenizer"] = {{"type", "leters"}};
    return config.dump();
  }());
  EXPECT_THAT(error_of([&] { plugins::load_model(model, host_); }),
              AllOf(HasSubstr("config.json: tokenizer: no tokenizer is called 'leters', did you mean 'letters'?")));
}

TEST_F(PluginTokenizer, InspectTellsItsKindWithoutLoadingIt) {
  train(config({"training.updates=3"}));
  const testing::Outcome run = testing::run_dragoman(folder_.path(), "inspect run/last");
  EXPECT_EQ(run.status, 0) << run.error;
  EXPECT_THAT(run.output, HasSubstr("letters, of the plugin good"));
}

// --- the command line and pipelines ---

TEST_F(PluginTokenizer, EncodesAndDecodesOnTheCommandLine) {
  core::write_file(file("text"), "a b\n\nda ca\nx\n");
  const auto run = [&](const std::string& words) {
    return testing::run_dragoman(
        folder_.path(), words + " --quiet --tokenizer letters --tokenizer-type letters --plugin '" + kGood + "'");
  };
  const testing::Outcome encoded = run("encode text --output pieces");
  EXPECT_EQ(encoded.status, 0) << encoded.error;
  EXPECT_EQ(core::read_file(file("pieces")), "a _ b\n\nd a _ c a\n<unk>\n");
  EXPECT_EQ(run("encode text --format ids").output, "4 3 5\n\n7 4 3 6 4\n0\n");
  EXPECT_EQ(run("decode pieces").output, "a b\n\nda ca\n\n");
  core::write_file(file("capitals"), "A B\n");
  EXPECT_EQ(run("encode capitals --tokenizer-options upper=true").output, "a _ b\n");

  const auto misspelt = run("encode text --tokenizer-options uper=true");
  EXPECT_EQ(misspelt.status, 1);
  EXPECT_THAT(misspelt.error, AllOf(HasSubstr("'uper'"), HasSubstr("did you mean 'upper'?")));
  const auto mixed = run("encode text --pattern gpt2");
  EXPECT_EQ(mixed.status, 2);
  EXPECT_THAT(mixed.error, HasSubstr("--tokenizer-options"));
}

TEST_F(PluginTokenizer, OptionsWithoutATypeAreMisuse) {
  core::write_file(file("text"), "a b\n");
  for (const std::string& words : {"--plugin '" + kGood + "'", std::string("--tokenizer-options upper=true")}) {
    const testing::Outcome run = testing::run_dragoman(folder_.path(), "encode text -t tokenizer.json " + words);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.error, HasSubstr("name it with --tokenizer-type"));
  }
}

TEST_F(PluginTokenizer, StagesOfAPipelineTakeIt) {
  core::write_file(file("text"), "A b\nda ca\n");
  const auto run = [&](const std::string& output, const std::string& stages) {
    const std::string yaml = "stages:\n  - read: {path: " + file("text").string() + "}\n" + stages +
                             "  - write: {path: " + file(output).string() + "}\n";
    pipeline::make_pipeline(core::parse_yaml(yaml, "yaml"), "yaml", host_, 1).run({});
    return core::read_file(file(output));
  };
  const std::string tokenizer = "tokenizer: " + file("letters").string() + ", tokenizer_type: letters";
  EXPECT_EQ(run("plain", "  - encode: {" + tokenizer + "}\n"), "<unk> _ b\nd a _ c a\n");
  const std::string upper = tokenizer + ", tokenizer-options: {upper: true}";
  EXPECT_EQ(run("upper", "  - encode: {" + upper + "}\n"), "a _ b\nd a _ c a\n");
  EXPECT_EQ(run("both", "  - encode: {" + upper + ", format: ids}\n  - decode: {" + upper + ", format: ids}\n"),
            "a b\nda ca\n");
  EXPECT_THAT(error_of([&] { run("none", "  - encode: {" + tokenizer + ", tokenizer_options: {uper: true}}\n"); }),
              HasSubstr("unknown key 'uper'"));
  EXPECT_THAT(error_of([&] { run("none", "  - encode: {" + tokenizer + ", tokenizer_options: 3}\n"); }),
              HasSubstr("tokenizer_options: must hold keys and values"));
}

}  // namespace
}  // namespace dragoman
