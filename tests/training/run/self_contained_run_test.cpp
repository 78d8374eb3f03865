#include "small_task.h"
#include "test_data.h"
#include "test_names.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>

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
using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SmallTask;
using testing::StopAt;
using testing::train;

/// What a run is made of belongs to it: the user's files may change, and nobody else is at work in its folder.
class SelfContainedRun : public ::testing::Test {
 protected:
  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }

  /// Every file of the run with its content.
  std::map<std::string, std::string> content(const std::string& run) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(task_.file(run)))
      if (entry.is_regular_file()) files[entry.path().string()] = core::read_file(entry.path());
    return files;
  }

  std::string output(const std::string& name) const { return "output=" + task_.file(name).string(); }
  std::string copy() const { return core::read_file(task_.file("run") / "tokenizer.json"); }

  /// The same tokenizer, but for the layout of its file.
  void reformat_tokenizer() const {
    core::write_file(task_.file("tokenizer.json"),
                     core::load_json(task_.file("tokenizer.json").string()).dump(1) + "\n\n");
  }

  void stop_at(std::uint64_t update, const std::vector<std::string>& assignments = {}) const {
    StopAt stop(update);
    EXPECT_THROW(train(task_.config(assignments), StartMode::kFresh, stop.source.get_token(), stop.environment),
                 core::Error);
  }

  /// An environment whose warnings are kept.
  TrainerEnvironment listening() {
    TrainerEnvironment environment = make_environment(testing::host());
    environment.log = [this](core::LogLevel level, std::string_view message) {
      if (level == core::LogLevel::kWarning) warnings_.emplace_back(message);
    };
    return environment;
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
  std::vector<std::string> warnings_;
};

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

TEST_F(SelfContainedRun, AChangedRecordIsRefused) {
  stop_at(9);
  const fs::path file = task_.file("run") / "run.json";
  core::Json record = core::load_json(file.string());
  record["configuration"]["training"]["label_smoothing"] = 0.25;
  core::write_file(file, record.dump());
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }),
              AllOf(HasSubstr("run.json"), HasSubstr("sha256.configuration")));
  record["format_version"] = 3;
  core::write_file(file, record.dump());
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }), HasSubstr("this program reads 1 to 2"));
}

// --- row 10: nothing is lost ---

TEST_F(SelfContainedRun, ALogThatWasLostIsNoReasonToRefuse) {
  train(task_.config({output("whole")}));
  stop_at(9);
  fs::remove(task_.file("run") / "metrics.jsonl");
  train(task_.config(), StartMode::kResume, {}, listening());
  EXPECT_THAT(warnings_, ::testing::Contains(AllOf(HasSubstr("metrics.jsonl"), HasSubstr("has 0 lines"))));
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
  // Updates 12, 16, 20 and 24, and the validation at the end.
  EXPECT_EQ(std::ranges::count(core::read_file(task_.file("run") / "metrics.jsonl"), '\n'), 5);
}

class FlippedBit : public SelfContainedRun, public ::testing::WithParamInterface<const char*> {};

// Row 18: values with a flipped bit were loaded.
TEST_P(FlippedBit, IsNamedAndNothingIsDeleted) {
  train(task_.config({output("whole"), "training.ema_decay=0.9"}));
  train(task_.config({"training.updates=20", "training.ema_decay=0.9"}));
  const fs::path damaged = task_.file("run") / "checkpoint-20" / GetParam();
  std::string bytes = core::read_file(damaged);
  bytes[bytes.size() - 2] ^= 1;
  core::write_file(damaged, bytes);
  train(task_.config({"training.ema_decay=0.9"}), StartMode::kResume, {}, listening());
  ASSERT_EQ(warnings_.size(), 2U);
  EXPECT_THAT(warnings_[0], AllOf(HasSubstr(GetParam()), HasSubstr("falling back")));
  EXPECT_EQ(core::read_file(task_.file("run") / "checkpoint-20.damaged" / GetParam()), bytes);
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
}

INSTANTIATE_TEST_SUITE_P(Files, FlippedBit,
                         ::testing::Values("model.safetensors", "first_moment.safetensors", "second_moment.safetensors",
                                           "average.safetensors", "state.json", "SHA256SUMS"),
                         dragoman::testing::kParameterName);

TEST_F(SelfContainedRun, AMissingFileOfACheckpointIsDamage) {
  for (const char* file : {"model.safetensors", "state.json", "SHA256SUMS"}) {
    const std::string run = std::string("without_") + file;
    train(task_.config({output(run), "training.updates=20"}));
    fs::remove(task_.file(run) / "checkpoint-20" / file);
    EXPECT_EQ(train(task_.config({output(run)}), StartMode::kResume).updates, 24);
    EXPECT_TRUE(fs::exists(task_.file(run) / "checkpoint-20.damaged"));
  }
}

TEST_F(SelfContainedRun, OnlyDamageFallsBack) {
  train(task_.config({"training.updates=20"}));
  const auto before = content("run");
  EXPECT_THAT(error_of([&] { train(task_.config({"model.d_model=32"}), StartMode::kFork); }),
              HasSubstr("the configured model has"));
  EXPECT_EQ(content("run"), before) << "a model that does not fit is no damage";
  const fs::path state = task_.file("run") / "checkpoint-20/state.json";
  core::Json json = core::load_json(state.string());
  json["format_version"] = 4;
  core::write_file(state, json.dump());
  formats::write_checksums(state.parent_path());
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }), HasSubstr("this program reads 1 to 3"));
  EXPECT_THAT(CheckpointStore(task_.file("run")).updates(), ::testing::ElementsAre(14, 20)) << "nor is a newer program";
}

TEST_F(SelfContainedRun, IfNoCheckpointIsSoundNothingIsRenamed) {
  train(task_.config({"training.updates=20"}));
  for (const char* name : {"checkpoint-14", "checkpoint-20"})
    core::write_file(task_.file("run") / name / "model.safetensors", "rubbish");
  const auto before = content("run");
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume); }), HasSubstr("checkpoint-14/SHA256SUMS"));
  EXPECT_EQ(content("run"), before);
}

TEST_F(SelfContainedRun, CheckpointsThatVanishWhileResumingAreAnError) {
  train(task_.config({"training.updates=20"}));
  TrainerEnvironment environment = make_environment(testing::host());
  environment.progress = [&](const core::Progress&) {
    for (const char* name : {"checkpoint-14", "checkpoint-20"}) fs::remove_all(task_.file("run") / name);
  };
  EXPECT_THAT(error_of([&] { train(task_.config(), StartMode::kResume, {}, environment); }), HasSubstr("are gone now"));
}

TEST_F(SelfContainedRun, AFailedValidationLosesNoUpdate) {
  train(task_.config({output("whole"), "validation.every=5"}));
  TrainerEnvironment environment = make_environment(testing::host());
  std::uint64_t update = 0;
  environment.progress = [&](const core::Progress& progress) {
    if (progress.stage == "train") update = progress.done;
    if (progress.stage == "validate" && update == 10) throw std::bad_alloc();
  };
  const auto config = task_.config({"validation.every=5"});
  EXPECT_THROW(train(config, StartMode::kFresh, {}, environment), std::bad_alloc);
  EXPECT_EQ(CheckpointStore(config.output).updates().back(), 10) << "although none was due before 14";
  train(config, StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("run", 24), task_.checkpoint_bytes("whole", 24));
  EXPECT_EQ(core::read_file(task_.file("run") / "best/model.safetensors"),
            core::read_file(task_.file("whole") / "best/model.safetensors"));
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

// --- files of older versions ---

/// golden/run_v1 was written by the program before it copied tokenizers and wrote sums; its README says how.
class RunOfVersion1 : public SelfContainedRun {
 protected:
  RunOfVersion1() { fs::copy(dragoman::testing::golden_file("run_v1"), folder_ / "v1", fs::copy_options::recursive); }

  TrainingConfig config(const std::vector<std::string>& assignments = {}) const {
    const fs::path v1 = folder_ / "v1";
    core::Json tree = core::load_yaml((v1 / "train.yml").string());
    tree["output"] = (v1 / "run").string();
    tree["data"]["train"] = {{"source", (v1 / "train.source").string()}, {"target", (v1 / "train.target").string()}};
    tree["data"]["tokenizer"] = (v1 / "tokenizer.json").string();
    for (const std::string& assignment : assignments) core::set_option(tree, assignment);
    return read_training_config(tree, "train.yml");
  }
};

TEST_F(RunOfVersion1, IsResumedAndBroughtUpToDate) {
  const fs::path run = folder_ / "v1/run";
  ASSERT_EQ(core::load_json((run / "run.json").string())["format_version"], 1);
  ASSERT_FALSE(fs::exists(run / "tokenizer.json"));
  EXPECT_EQ(train(config(), StartMode::kResume, {}, listening()).updates, 12);
  EXPECT_EQ(core::load_json((run / "run.json").string())["format_version"], 2);
  EXPECT_EQ(core::read_file(run / "tokenizer.json"), core::read_file(folder_ / "v1/tokenizer.json"));
  EXPECT_EQ(open_checkpoint(run / "checkpoint-12").update, 12);
  EXPECT_TRUE(fs::exists(run / "checkpoint-12/SHA256SUMS"));
  EXPECT_EQ(std::ranges::count(core::read_file(run / "metrics.jsonl"), '\n'), 6) << "every second update";
}

TEST_F(RunOfVersion1, NeedsItsTokenizer) {
  reformat_tokenizer();
  fs::copy(task_.file("tokenizer.json"), folder_ / "v1/tokenizer.json", fs::copy_options::overwrite_existing);
  EXPECT_THAT(error_of([&] { train(config(), StartMode::kResume); }), HasSubstr("not the tokenizer"));
  fs::remove(folder_ / "v1/tokenizer.json");
  EXPECT_THAT(error_of([&] { train(config(), StartMode::kResume); }), HasSubstr("cannot open"));
}

TEST_F(RunOfVersion1, FallsBackFromACheckpointThatIsCutShort) {
  const fs::path run = folder_ / "v1/run";
  ASSERT_THAT(CheckpointStore(run).updates(), ::testing::ElementsAre(6, 8));
  fs::resize_file(run / "checkpoint-8/model.safetensors", 1000);
  EXPECT_EQ(train(config(), StartMode::kResume, {}, listening()).updates, 12);
  EXPECT_TRUE(fs::exists(run / "checkpoint-8.damaged"));
}

}  // namespace
}  // namespace dragoman::training
