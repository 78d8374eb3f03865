#include "self_contained_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file_lock.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SelfContainedRun;
using testing::train;

/// The models of the first end stay where they are while the run goes on.
TEST_F(SelfContainedRun, SaysWhetherItHasComeToItsEnd) {
  const auto finished = [&] { return core::load_json((task_.file("run") / "run.json").string()).at("finished"); };
  stop_at(9);
  EXPECT_TRUE(finished().is_null());
  train(task_.config(), StartMode::kResume);
  EXPECT_EQ(finished(), 24);
  StopAt stop(30);
  EXPECT_THROW(
      train(task_.config({"training.updates=40"}), StartMode::kResume, stop.source.get_token(), stop.environment),
      core::Error);
  EXPECT_TRUE(fs::exists(task_.file("run") / "last"));
  EXPECT_TRUE(finished().is_null());
  train(task_.config({"training.updates=40"}), StartMode::kResume);
  EXPECT_EQ(finished(), 40);
}

// --- what is not the run's ---

TEST_F(SelfContainedRun, LinksWhereItWritesAreRefusedAndWhatTheyLeadToIsKept) {
  stop_at(9);
  for (const char* name : {"tokenizer.json", "metrics.jsonl", "run.json", "last", "last.partial", "best.replaced",
                           "blocks", "checkpoint-999", "checkpoint-999.partial"}) {
    const fs::path link = task_.file("run") / name;
    const fs::path aside = task_.file("aside");
    const bool existed = fs::exists(link);
    if (existed) fs::rename(link, aside);
    if (!existed) fs::create_directory(aside);
    fs::create_symlink(aside, link);
    const auto state = [&] {
      return fs::is_directory(aside) ? content("aside")
                                     : std::map<std::string, std::string>{{"", core::read_file(aside)}};
    };
    const auto before = state();
    EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
                AllOf(HasSubstr(link.string()), HasSubstr("is a link")))
        << name;
    EXPECT_EQ(state(), before) << name;
    fs::remove(link);
    if (existed)
      fs::rename(aside, link);
    else
      fs::remove_all(aside);
  }
  fs::create_symlink("checkpoint-9", task_.file("run") / "newest");
  train(task_.config(), StartMode::kResume);  // a link of the user's own is none of our business
}

TEST_F(SelfContainedRun, DoesNotBeginInAModelFolderNorOverAnotherTokenizer) {
  fs::create_directory(task_.file("model"));
  for (const char* name : {"config.json", "model.safetensors", "metrics.jsonl"}) {
    core::write_file(task_.file("model") / name, "precious");
    EXPECT_THAT(error_of([&] { train(task_.config({output("model")})); }), HasSubstr(name));
    EXPECT_EQ(core::read_file(task_.file("model") / name), "precious");
    fs::remove(task_.file("model") / name);
  }
  for (const char* name : {"best", "last", "average"}) {
    fs::create_directory(task_.file("model") / name);
    core::write_file(task_.file("model") / name / "config.json", "precious");
    EXPECT_THAT(error_of([&] { train(task_.config({output("model")})); }), HasSubstr(name));
    EXPECT_EQ(core::read_file(task_.file("model") / name / "config.json"), "precious");
    fs::remove_all(task_.file("model") / name);
  }
  core::write_file(task_.file("model") / "tokenizer.json", "precious");
  EXPECT_THAT(error_of([&] { train(task_.config({output("model")})); }), HasSubstr("is another tokenizer"));
  EXPECT_EQ(core::read_file(task_.file("model") / "tokenizer.json"), "precious");
}

TEST_F(SelfContainedRun, ParametersThatAreNoNumbersAreNotSaved) {
  const std::string error = error_of([&] {
    train(task_.config({"training.schedule.learning_rate=1e30", "training.schedule.warmup=0", "checkpoint.every=1",
                        "checkpoint.keep=1", "training.updates=5"}));
  });
  EXPECT_THAT(error, HasSubstr("training diverged"));
  for (const auto& entry : fs::directory_iterator(task_.file("run"))) {
    const fs::path weights = entry.path() / "model.safetensors";
    if (!fs::exists(weights)) continue;
    const std::string bytes = core::read_file(weights);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::vector<float> values((bytes.size() - sizeof header - header) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + sizeof header + header, values.size() * sizeof(float));
    EXPECT_TRUE(std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) << entry.path();
  }
}

// --- row 7: one trainer at a time ---

TEST_F(SelfContainedRun, ASecondTrainerIsRefusedAndTouchesNothing) {
  stop_at(9);
  // What the first trainer would be writing just now.
  fs::create_directories(task_.file("run") / "checkpoint-21.partial");
  core::write_file(task_.file("run") / "checkpoint-21.partial/model.safetensors", "half");
  {
    const core::FileLock first = core::FileLock::acquire(task_.file("run"));
    const auto before = content("run");
    for (const StartMode mode : {StartMode::kFresh, StartMode::kResume, StartMode::kFork})
      EXPECT_THAT(error_of([&] { train(task_.config(), mode); }), HasSubstr("another process"));
    EXPECT_EQ(content("run"), before);
  }
  EXPECT_NO_THROW(train(task_.config(), StartMode::kResume));
}

TEST_F(SelfContainedRun, IsLockedAsLongAsATrainerLives) {
  for (const StartMode mode : {StartMode::kFresh, StartMode::kResume}) {
    Trainer trainer(task_.config({"training.updates=3"}), make_environment(testing::host()), mode);
    EXPECT_THAT(error_of([&] { core::FileLock::acquire(task_.file("run")); }), HasSubstr("another process"));
    trainer.run();
    EXPECT_THAT(error_of([&] { core::FileLock::acquire(task_.file("run")); }), HasSubstr("another process"));
  }
  EXPECT_NO_THROW(core::FileLock::acquire(task_.file("run")));
}

TEST_F(SelfContainedRun, LeavesNothingBehindIfItCannotBegin) {
  EXPECT_THAT(error_of([&] { train(task_.config({"data.tokenizer=" + task_.file("none").string()})); }),
              HasSubstr("none"));
  EXPECT_FALSE(fs::exists(task_.file("run")));
  fs::create_directory(task_.file("run"));
  EXPECT_THAT(error_of([&] { train(task_.config({"data.train.source=" + task_.file("none").string()})); }),
              HasSubstr("none"));
  EXPECT_TRUE(fs::exists(task_.file("run"))) << "that one is not ours";
  EXPECT_THAT(error_of([&] { train(task_.config({output("nowhere")}), StartMode::kResume); }),
              HasSubstr("no checkpoint"));
  EXPECT_FALSE(fs::exists(task_.file("nowhere")));
}

// --- row 4: tokenizers ---

TEST_F(SelfContainedRun, ATokenizerThatChangesDuringTheRunIsExportedAsItWas) {
  const std::string before = core::read_file(task_.file("tokenizer.json"));
  TrainerEnvironment environment = make_environment(testing::host());
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage == "train" && progress.done == 5) core::write_file(task_.file("tokenizer.json"), "{}");
  };
  train(task_.config({"validation.every=8", "checkpoint.average=2"}), StartMode::kFresh, {}, environment);
  for (const char* model : {"best", "last", "average"}) {
    EXPECT_EQ(core::read_file(task_.file("run") / model / "tokenizer.json"), before) << model;
    EXPECT_NO_THROW(formats::verify_checksums(task_.file("run") / model));
  }
  EXPECT_EQ(copy(), before);
}

TEST_F(SelfContainedRun, RecordsTheSumsOfWhatItCopied) {
  train(task_.config({"training.updates=3"}));
  const core::Json record = core::load_json((task_.file("run") / "run.json").string());
  EXPECT_EQ(record["format_version"], 2);
  EXPECT_EQ(record["sha256"]["tokenizer.json"], formats::sha256_of_file(task_.file("run") / "tokenizer.json"));
  EXPECT_EQ(record["sha256"]["configuration"], formats::sha256_of(record["configuration"].dump()));
}

TEST_F(SelfContainedRun, ASentencePieceModelIsExportedAsATokenizerJson) {
  const fs::path model = dragoman::testing::in_source("tests/tokenizer/golden/sentencepiece_bytes.model");
  train(task_.config({"training.updates=3", "data.tokenizer=" + model.string()}));
  const std::string exported = core::read_file(task_.file("run") / "last/tokenizer.json");
  EXPECT_EQ(tokenizer::recognise("tokenizer.json", exported), tokenizer::FileKind::kTokenizerJson);
  const auto original = tokenizer::load_tokenizer(model);
  const auto opened = formats::ModelFolder::open(task_.file("run") / "last");
  for (const char* text : {"a b c d", "Hello world", "Das ist ein Satz.", "x\xC3\xA4y"})
    EXPECT_EQ(opened.source_tokenizer()->encode(text), original->encode(text)) << text;
  EXPECT_EQ(train(task_.config({"training.updates=4", "data.tokenizer=" + model.string()}), StartMode::kResume).updates,
            4);
}

TEST_F(SelfContainedRun, ATokenizerThatCannotBeExportedIsRefusedAtTheStart) {
  const std::string model = dragoman::testing::in_source("tests/tokenizer/golden/sentencepiece_unigram_plain.model");
  EXPECT_THAT(error_of([&] { train(task_.config({"data.tokenizer=" + model})); }),
              AllOf(HasSubstr("unigram"), HasSubstr("type: sentencepiece"), HasSubstr("dragoman learn-bpe")));
}

TEST_F(SelfContainedRun, KeepsACopyOfEachSidesTokenizer) {
  fs::copy(task_.file("tokenizer.json"), task_.file("other.json"));
  const std::vector<std::string> both = {"training.updates=3",
                                         "data.tokenizer={source: " + task_.file("tokenizer.json").string() +
                                             ", target: " + task_.file("other.json").string() + "}"};
  train(task_.config(both));
  for (const char* name : {"source.tokenizer.json", "target.tokenizer.json"}) {
    EXPECT_EQ(core::read_file(task_.file("run") / name), core::read_file(task_.file("other.json")));
    EXPECT_TRUE(fs::exists(task_.file("run") / "last" / name));
  }
  fs::remove(task_.file("other.json"));
  EXPECT_NO_THROW(train(task_.config(both), StartMode::kResume));
}

TEST_F(SelfContainedRun, ResumesFromItsCopyIfTheTokenizerIsGone) {
  train(task_.config({output("whole")}));
  stop_at(9);
  fs::remove(task_.file("tokenizer.json"));
  train(task_.config(), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
  EXPECT_TRUE(fs::exists(task_.file("run") / "last/tokenizer.json"));
}

TEST_F(SelfContainedRun, AChangedTokenizerIsRefusedUnlessForked) {
  stop_at(9);
  const std::string before = copy();
  reformat_tokenizer();
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
              AllOf(HasSubstr("not the tokenizer that the run began with"), HasSubstr("run/tokenizer.json"),
                    HasSubstr("`fork`")));
  EXPECT_EQ(copy(), before);
  // As the message says.
  EXPECT_NO_THROW(
      train(task_.config({"data.tokenizer=" + (task_.file("run") / "tokenizer.json").string(), "training.updates=10"}),
            StartMode::kResume));
  EXPECT_NO_THROW(train(task_.config(), StartMode::kFork));
  EXPECT_EQ(copy(), core::read_file(task_.file("tokenizer.json")));
  EXPECT_EQ(core::read_file(task_.file("run") / "last/tokenizer.json"), copy());
}

TEST_F(SelfContainedRun, ADamagedCopyIsMadeAgainOrNamed) {
  stop_at(9);
  const std::string before = copy();
  core::write_file(task_.file("run") / "tokenizer.json", before + " ");
  train(task_.config({"training.updates=12"}), StartMode::kResume, {}, listening());
  EXPECT_THAT(warnings_, ::testing::Contains(HasSubstr("made again")));
  EXPECT_EQ(copy(), before);
  core::write_file(task_.file("run") / "tokenizer.json", before + " ");
  fs::remove(task_.file("tokenizer.json"));
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
              AllOf(HasSubstr("run/tokenizer.json"), HasSubstr("damaged"), HasSubstr("restore")));
}

TEST_F(SelfContainedRun, AFileInTheWayOfAModelIsFoundBeforeTraining) {
  for (const char* model : {"best", "last", "average"}) {
    const std::string run = std::string("run_") + model;
    fs::create_directories(task_.file(run) / model);
    core::write_file(task_.file(run) / model / "thesis.tex", "years of work");
    EXPECT_THAT(error_of([&] {
                  train(task_.config({output(run), "validation.every=5", "checkpoint.average=2"}));
                }),
                AllOf(HasSubstr("holds 'thesis.tex'"), HasSubstr("would be lost")));
    EXPECT_FALSE(fs::exists(task_.file(run) / "run.json"));
  }
}

TEST_F(SelfContainedRun, AModelThatCannotBeWrittenDoesNotEndTraining) {
  TrainerEnvironment environment = listening();
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage != "train" || progress.done != 3) return;
    for (const char* model : {"best", "last"}) {
      fs::create_directories(task_.file("run") / model);
      core::write_file(task_.file("run") / model / "thesis.tex", "years of work");
    }
  };
  EXPECT_THAT(error_of([&] { train(task_.config({"validation.every=5"}), StartMode::kFresh, {}, environment); }),
              AllOf(HasSubstr("checkpoint-24 is kept"), HasSubstr("best and last could not be written"),
                    HasSubstr("`resume`")));
  EXPECT_FALSE(warnings_.empty());
  EXPECT_EQ(CheckpointStore(task_.file("run")).updates().back(), 24);
  EXPECT_EQ(core::read_file(task_.file("run") / "last/thesis.tex"), "years of work");
  for (const char* model : {"best", "last"}) fs::remove(task_.file("run") / model / "thesis.tex");
  EXPECT_NO_THROW(train(task_.config({"validation.every=5"}), StartMode::kResume));
  EXPECT_NO_THROW(formats::verify_checksums(task_.file("run") / "last"));
  train(task_.config({"validation.every=5", output("whole")}));
  EXPECT_EQ(core::read_file(task_.file("run") / "best/model.safetensors"),
            core::read_file(task_.file("whole") / "best/model.safetensors"))
      << "made of the parameters that were kept for it";
}

TEST_F(SelfContainedRun, ABestModelThatIsGoneAndHasNoCheckpointIsAnError) {
  train(task_.config({"validation.every=5"}));
  fs::remove_all(task_.file("run") / "best");
  EXPECT_THAT(error_of([&] { train(task_.config({"validation.every=5"}), StartMode::kResume); }),
              AllOf(HasSubstr("best: is gone"), HasSubstr("last/ has been written")));
}

TEST_F(SelfContainedRun, TheBestModelIsWrittenOnceThatIsPossible) {
  // The first validation stays the best, so nothing else would write it.
  const std::vector<std::string> recipe = {"validation.every=5", "training.schedule.learning_rate=1e-30"};
  std::vector<std::string> whole = recipe;
  whole.push_back(output("whole"));
  train(task_.config(whole));
  TrainerEnvironment environment = listening();
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage != "train") return;
    const fs::path best = task_.file("run") / "best";
    if (progress.done == 3) {
      fs::create_directories(best);
      core::write_file(best / "thesis.tex", "years of work");
    }
    if (progress.done == 20) fs::remove(best / "thesis.tex");
  };
  EXPECT_NO_THROW(train(task_.config(recipe), StartMode::kFresh, {}, environment));
  EXPECT_THAT(warnings_, ::testing::Contains(HasSubstr("the model best could not be written")));
  EXPECT_EQ(core::read_file(task_.file("run") / "best/model.safetensors"),
            core::read_file(task_.file("whole") / "best/model.safetensors"));
  EXPECT_THAT(core::read_file(task_.file("run") / "best/README.md"), HasSubstr("after 5 updates"));
}

TEST_F(SelfContainedRun, AnInterruptionDoesNotChangeTheMeanOfTheLastCheckpoints) {
  std::vector<std::string> recipe = {"checkpoint.average=3", "checkpoint.average_of=last", "checkpoint.every=6",
                                     output("whole")};
  train(task_.config(recipe));
  recipe.back() = output("run");
  stop_at(20, recipe);
  train(task_.config(recipe), StartMode::kResume);
  EXPECT_EQ(core::read_file(task_.file("run") / "average/model.safetensors"),
            core::read_file(task_.file("whole") / "average/model.safetensors"));
}

TEST_F(SelfContainedRun, AFolderThatIsGoneOrAnotherIsNotWrittenTo) {
  for (const bool replaced : {false, true}) {
    const std::string name = replaced ? "replaced" : "gone";
    TrainerEnvironment environment = make_environment(testing::host());
    environment.progress = [&](const core::Progress& progress) {
      if (progress.stage != "train" || progress.done != 7 || !fs::exists(task_.file(name))) return;
      fs::rename(task_.file(name), task_.file(name + "_aside"));
      if (replaced) fs::create_directory(task_.file(name));
    };
    EXPECT_THAT(error_of([&] { train(task_.config({output(name)}), StartMode::kFresh, {}, environment); }),
                HasSubstr("is not the folder any more that this run began with"));
    EXPECT_TRUE(!fs::exists(task_.file(name)) || fs::is_empty(task_.file(name)));
    EXPECT_TRUE(fs::exists(task_.file(name + "_aside") / "run.json"));
  }
}

TEST_F(SelfContainedRun, PipesWhereTrainingWritesAreRefusedAtOnce) {
  for (const std::string name : {"run.json", "tokenizer.json", "metrics.jsonl"}) {
    const fs::path run = task_.file("with_" + name);
    fs::create_directory(run);
    ASSERT_EQ(::mkfifo((run / name).c_str(), 0600), 0);
    EXPECT_THAT(error_of([&] { train(task_.config({output("with_" + name)})); }),
                HasSubstr("is a pipe or a device where training writes"));
  }
}

// --- forks ---

TEST_F(SelfContainedRun, AForkBeginsItsRankingAnewWhereScoresCannotBeCompared) {
  stop_at(13, {"validation.every=6", "validation.metric=loss"});
  const auto ranked = [&] {
    return core::load_json((task_.file("run") / "checkpoint-24/state.json").string())["early_stopping"]["ranking"];
  };
  train(task_.config({"validation.every=6", "validation.metric=bleu"}), StartMode::kFork, {}, listening());
  EXPECT_THAT(warnings_, ::testing::Contains(HasSubstr("cannot be compared")));
  for (const core::Json& best : ranked()) EXPECT_GT(best["update"], 13) << "a loss is no BLEU";
  const core::Json record = core::load_json((task_.file("run") / "run.json").string());
  ASSERT_EQ(record["forks"].size(), 1U);
  EXPECT_GE(record["forks"][0]["update"], 12);
  EXPECT_THAT(record["forks"][0]["changed"].get<std::string>(), HasSubstr("validation.metric"));
  EXPECT_THAT(core::read_file(task_.file("run") / "last/README.md"), HasSubstr("## Forks"));
  // What is remembered stays, and a change of the rate leaves scores what they are.
  warnings_.clear();
  train(task_.config({"validation.every=6", "validation.metric=bleu", "training.updates=30",
                      "training.schedule.learning_rate=0.0001"}),
        StartMode::kFork, {}, listening());
  EXPECT_THAT(warnings_, ::testing::Not(::testing::Contains(HasSubstr("cannot be compared"))));
  EXPECT_EQ(core::load_json((task_.file("run") / "run.json").string())["forks"].size(), 2U);
  // Nor does a key that the program which began the run did not know.
  core::Json older = core::load_json((task_.file("run") / "run.json").string());
  ASSERT_EQ(older["affects_results"].erase("model.init"), 1U);
  core::write_file(task_.file("run") / "run.json", older.dump());
  train(task_.config({"validation.every=6", "validation.metric=bleu", "training.updates=36",
                      "training.schedule.learning_rate=0.0002"}),
        StartMode::kFork, {}, listening());
  EXPECT_THAT(warnings_, ::testing::Not(::testing::Contains(HasSubstr("cannot be compared"))));
}

}  // namespace
}  // namespace dragoman::training
