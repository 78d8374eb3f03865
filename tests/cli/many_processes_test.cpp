#include "mpi_job.h"

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class ManyProcessesCommand : public ::testing::Test {
 protected:
  ManyProcessesCommand() {
    std::ofstream source(folder_ / "train.src"), target(folder_ / "train.trg");
    for (unsigned i = 0, state = 1; i < 400; ++i) {
      for (unsigned w = 0; w <= (state >> 20) % 4; ++w) {
        state = state * 1664525 + 1013904223;
        source << "abcd"[(state >> 24) % 4] << ' ';
        target << "wxyz"[(state >> 24) % 4] << ' ';
      }
      source << "e\n";
      target << "v\n";
    }
    source.close();
    target.close();
    std::ofstream(folder_ / "train.yml") << R"(
output: run
threads: 1
model: {d_model: 32, heads: 2, feed_forward: 64, encoder_layers: 1, decoder_layers: 1, dropout: 0.1}
data:
  train: {source: train.src, target: train.trg}
  tokenizer: tokenizer.json
training: {updates: 12, accumulate: 2, batch_tokens: 256, schedule: {learning_rate: 0.005, warmup: 4}}
checkpoint: {every: 5}
)";
    EXPECT_EQ(run("learn-bpe --quiet --input train.src train.trg --vocab-size 280 --output tokenizer.json").status, 0);
  }

  Outcome run(const std::string& arguments) const { return run_dragoman(folder_.path(), arguments); }

  /// The program with environment variables of its own.
  Outcome run_with(const std::string& variables, const std::string& arguments) const {
    const std::string command = "cd '" + folder_.path().string() + "' && env " + variables + " '" + built("program") +
                                "' " + arguments + " >stdout.txt 2>stderr.txt";
    const int result = std::system(command.c_str());
    return {WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result), file_content(folder_ / "stdout.txt"),
            file_content(folder_ / "stderr.txt")};
  }

  std::string weights(const std::string& run) const { return file_content(folder_ / run / "last/model.safetensors"); }

  TemporaryFolder folder_;
};

/// Those that need mpirun.
class MpiProcesses : public ManyProcessesCommand {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "there is no mpirun, or Dragoman was built without MPI";
  }
  bool trains(const std::string& run) const { return std::filesystem::exists(folder_ / run / "checkpoint-5"); }
};

TEST_F(MpiProcesses, TwoEqualOneThatAccumulates) {
  ASSERT_EQ(run("train train.yml --set output=one").status, 0);
  MpiJob two(folder_.path(), 2, "train train.yml --set output=two");
  ASSERT_EQ(two.wait(), 0) << two.all_errors(2);
  ASSERT_FALSE(weights("one").empty());
  EXPECT_TRUE(weights("two") == weights("one"));
  EXPECT_THAT(two.error_of(0), ContainsRegex("2 processes by .*MPI.*: 2 batches an update, 1 of each"));
  EXPECT_EQ(two.error_of(1), "") << "rank 0 alone says what happens";
}

TEST_F(MpiProcesses, TwoTrainOnTheBlocksOfOne) {
  {
    std::ofstream source(folder_ / "train.src"), target(folder_ / "train.trg");
    for (int i = 0; i < 20000; ++i) {
      source << "abcd"[i % 4] << ' ' << "abcd"[i / 4 % 4] << " e\n";
      target << "wxyz"[i % 4] << ' ' << "wxyz"[i / 4 % 4] << " v\n";
    }
  }
  const std::string recipe = "train train.yml --set data.memory=1MiB --set output=";
  ASSERT_EQ(run(recipe + "one").status, 0);
  ASSERT_TRUE(std::filesystem::exists(folder_ / "one/blocks"));
  MpiJob two(folder_.path(), 2, recipe + "two");
  ASSERT_EQ(two.wait(), 0) << two.all_errors(2);
  ASSERT_FALSE(weights("one").empty());
  EXPECT_TRUE(weights("two") == weights("one"));
}

TEST_F(MpiProcesses, OneThatWouldTrainOtherwiseIsRefused) {
  MpiJob job(folder_.path(), {{"train train.yml"}, {"train train.yml --set training.seed=7"}});
  EXPECT_NE(job.wait(), 0);
  EXPECT_THAT(job.all_errors(2), AllOf(HasSubstr("rank 1 ("), HasSubstr("training.seed is 7 and not 1")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/last"));
}

/// Rank 1 does not find its text.
TEST_F(MpiProcesses, AFailureOfOneEndsTheOthersWithItsWords) {
  MpiJob job(folder_.path(), {{"train train.yml"}, {"train train.yml --set data.train.source=nowhere.src"}});
  EXPECT_NE(job.wait(), 0);
  EXPECT_THAT(job.error_of(1), HasSubstr("nowhere.src"));
  EXPECT_THAT(job.error_of(0), AllOf(HasSubstr("rank 1 ("), HasSubstr("gave up: "), HasSubstr("nowhere.src")));
}

TEST_F(MpiProcesses, AKilledOneEndsTheOthersAndTheRunGoesOnWithAnotherNumber) {
  ASSERT_EQ(run("train train.yml --set output=whole --set training.updates=400").status, 0);
  const std::string recipe = "train train.yml --set training.updates=400";
  {
    MpiJob job(folder_.path(), 2, recipe);
    ASSERT_TRUE(eventually([&] { return trains("run"); })) << job.all_errors(2);
    job.signal(1, SIGKILL);
    EXPECT_NE(job.wait(), 0);
    EXPECT_THAT(job.error(), ContainsRegex("signal 9|KILL")) << "the launcher says what has happened";
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run/last")) << "the others have ended, too";
  }
  const Outcome resumed = run(recipe + " --resume");
  EXPECT_EQ(resumed.status, 0) << resumed.error;
  EXPECT_TRUE(weights("run") == weights("whole"));
}

TEST_F(MpiProcesses, AStopOfOneIsAStopOfAll) {
  MpiJob job(folder_.path(), 3, "train train.yml --set training.updates=100000 --set training.accumulate=3");
  ASSERT_TRUE(eventually([&] { return trains("run"); })) << job.all_errors(3);
  job.signal(2, SIGTERM);
  EXPECT_EQ(job.wait(), 130) << job.all_errors(3);
  EXPECT_THAT(job.error_of(0), HasSubstr("the state is saved in run/checkpoint-"));
}

TEST_F(MpiProcesses, TwoJobsAtOnceDoNotMix) {
  const std::string other = "train train.yml --set training.seed=7 --set output=";
  ASSERT_EQ(run("train train.yml --set output=one").status, 0);
  ASSERT_EQ(run(other + "other-one").status, 0);
  {
    MpiJob job(folder_.path(), 2, "train train.yml --set output=two", "first");
    MpiJob other_job(folder_.path(), 2, other + "other-two", "second");
    EXPECT_EQ(job.wait(), 0) << job.all_errors(2);
    EXPECT_EQ(other_job.wait(), 0) << other_job.all_errors(2);
  }
  EXPECT_TRUE(weights("two") == weights("one"));
  EXPECT_TRUE(weights("other-two") == weights("other-one"));
  EXPECT_FALSE(weights("one") == weights("other-one"));
  // Of two in one folder the second is refused, and the first goes on.
  MpiJob first(folder_.path(), 2, "train train.yml --set training.updates=100000", "first");
  ASSERT_TRUE(eventually([&] { return trains("run"); })) << first.all_errors(2);
  MpiJob second(folder_.path(), 2, "train train.yml --resume --set training.updates=100000", "second");
  EXPECT_NE(second.wait(), 0);
  EXPECT_THAT(second.all_errors(2), HasSubstr("another process is working on it"));
  first.signal(0, SIGTERM);
  EXPECT_EQ(first.wait(), 130) << first.all_errors(2);
}

TEST_F(MpiProcesses, TranslateAShardEach) {
  ASSERT_EQ(run("train train.yml --set training.updates=3").status, 0);
  const std::string translate = "translate --quiet --model run/last --input train.src --decoder greedy ";
  ASSERT_EQ(run(translate + "--output whole").status, 0);
  MpiJob job(folder_.path(), 2, translate + "--output parts");
  EXPECT_EQ(job.wait(), 0) << job.all_errors(2);
  const std::string joined = file_content(folder_ / "parts.1-of-2") + file_content(folder_ / "parts.2-of-2");
  ASSERT_FALSE(joined.empty());
  EXPECT_EQ(joined, file_content(folder_ / "whole"));
}

/// The parts of a compressed output are compressed.
TEST_F(ManyProcessesCommand, TheNameOfAPartKeepsTheEndingOfItsCompression) {
  const std::string translate =
      "translate --quiet --model '" + in_source("examples/multi30k/model") + "' --input train.src --decoder greedy ";
  const Outcome outcome = run_with("PMI_RANK=1 PMI_SIZE=2", translate + "--output v1.part.gz");
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(file_content(folder_ / "v1.part.2-of-2.gz").substr(0, 2), "\x1f\x8b");
}

/// The launcher belongs to no MPI, or to another one.
TEST_F(MpiProcesses, AreNotWholeRunsIfMpiKnowsNothingOfTheLauncher) {
  const Outcome outcome = run_with("PMI_RANK=1 PMI_SIZE=3", "train train.yml");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, ContainsRegex("the launcher has started 3 processes, but .*MPI.* knows of 1"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(ManyProcessesCommand, SaysWhatIsWrongWithTheLaunch) {
  const auto error_of = [&](const std::string& variables, const std::string& more = "") {
    const Outcome outcome = run_with(variables, "train train.yml " + more);
    EXPECT_EQ(outcome.status, 1) << variables;
    return outcome.error;
  };
  EXPECT_THAT(error_of("OMPI_COMM_WORLD_RANK=x OMPI_COMM_WORLD_SIZE=2"), HasSubstr("OMPI_COMM_WORLD_RANK is 'x'"));
  EXPECT_THAT(error_of("PMI_RANK=2 PMI_SIZE=2"), HasSubstr("PMI_RANK is 2, but PMI_SIZE is 2"));
  EXPECT_THAT(error_of("A=b", "--collective tcp"), AllOf(HasSubstr("no transport by TCP"), HasSubstr("mpirun -np 2")));
  EXPECT_THAT(error_of("A=b", "--collective nccl"), HasSubstr("was not started by mpirun or srun"));
  EXPECT_THAT(error_of("A=b", "--collective smoke"), HasSubstr("no collective is called 'smoke'"));
}

/// Each of torchrun's processes is a whole job, which nobody who starts it so expects.
TEST_F(ManyProcessesCommand, ProcessesOfOtherLaunchersAreToldThatTheyAreAlone) {
  const std::string train = "train train.yml --set training.updates=3 --set output=";
  const auto says = [&](const std::string& variables, const std::string& arguments) {
    const Outcome outcome = run_with(variables, arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    return outcome.error.find("such as torchrun, whose processes are not joined here") != std::string::npos;
  };
  EXPECT_TRUE(says("RANK=1 WORLD_SIZE=4", train + "alone"));
  EXPECT_FALSE(says("RANK=0 WORLD_SIZE=1", train + "one"));
  EXPECT_FALSE(says("RANK=gold", train + "gold"));
  EXPECT_FALSE(says("RANK=1 WORLD_SIZE=4", train + "none --collective none"));
  EXPECT_TRUE(says("RANK=1 WORLD_SIZE=4", "translate --model alone/last --input train.src -o text"));
  EXPECT_FALSE(
      says("RANK=1 WORLD_SIZE=4 PMI_RANK=0 PMI_SIZE=2", "translate --model alone/last --input train.src -o text"));
}

TEST_F(ManyProcessesCommand, VariablesOfLaunchersSayWhichShardToTranslate) {
  ASSERT_EQ(run("train train.yml --set training.updates=3").status, 0);
  const std::string translate = "translate --quiet --model run/last --input train.src --decoder greedy ";
  ASSERT_EQ(run(translate + "--shard 2/3 --output expected").status, 0);
  for (const std::string& launcher :
       {std::string("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3"), std::string("PMI_RANK=1 PMI_SIZE=3"),
        std::string("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=3"),
        // mpirun and mpiexec start their processes by srun, one a machine.
        std::string("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2"),
        std::string("PMI_RANK=1 PMI_SIZE=3 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2")}) {
    std::filesystem::remove(folder_ / "part.2-of-3");
    const Outcome outcome = run_with(launcher, translate + "--output part");
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_EQ(file_content(folder_ / "part.2-of-3"), file_content(folder_ / "expected")) << launcher;
  }
  ASSERT_FALSE(file_content(folder_ / "expected").empty());
  const Outcome lost = run_with("PMI_RANK=0 PMI_SIZE=2", translate);
  EXPECT_EQ(lost.status, 2);
  EXPECT_THAT(lost.error, HasSubstr("name one by --output"));
}

TEST_F(ManyProcessesCommand, DoctorSaysWhetherMpiIsHere) {
  EXPECT_THAT(run("doctor").output,
              ContainsRegex(has_mpi() ? "\nmpi        ok: .*MPI" : "\nmpi        (ok|missing): "));
}

}  // namespace
}  // namespace dragoman::testing
