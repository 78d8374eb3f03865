#include "../models/collective/ranks.h"
#include "worker.h"

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
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

  std::vector<std::unique_ptr<Worker>> start(int size, const std::string& arguments) const {
    const std::uint16_t port = collective::testing::free_port();
    std::vector<std::unique_ptr<Worker>> workers;
    for (int rank = 0; rank < size; ++rank)
      workers.push_back(std::make_unique<Worker>(folder_.path(), rank, job_variables(rank, size, port), arguments));
    return workers;
  }

  std::string weights(const std::string& run) const { return file_content(folder_ / run / "last/model.safetensors"); }

  TemporaryFolder folder_;
};

TEST_F(ManyProcessesCommand, TwoAsTorchrunStartsThemEqualOneThatAccumulates) {
  ASSERT_EQ(run("train train.yml --set output=one").status, 0);
  const auto workers = start(2, "train train.yml --set output=two");
  for (const auto& worker : workers) EXPECT_EQ(worker->wait(), 0) << worker->error();
  ASSERT_FALSE(weights("one").empty());
  EXPECT_TRUE(weights("two") == weights("one"));
  EXPECT_THAT(workers[0]->error(), HasSubstr("2 processes by TCP: 2 batches an update, 1 of each"));
  EXPECT_EQ(workers[1]->error(), "") << "rank 0 alone says what happens";
}

TEST_F(ManyProcessesCommand, TwoTrainOnTheBlocksOfOne) {
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
  const auto workers = start(2, recipe + "two");
  for (const auto& worker : workers) EXPECT_EQ(worker->wait(), 0) << worker->error();
  ASSERT_FALSE(weights("one").empty());
  EXPECT_TRUE(weights("two") == weights("one"));
}

TEST_F(ManyProcessesCommand, TwoOfMpirunEqualOneThatAccumulates) {
  const std::string looks = "command -v mpirun >/dev/null && '" + built("program") + "' plugins list";
  if (std::system((looks + " | grep -q '^installed plugin *mpi '").c_str()) != 0)
    GTEST_SKIP() << "no mpirun, or built without MPI";
  ASSERT_EQ(run("train train.yml --set output=one").status, 0);
  const std::string launch = "cd '" + folder_.path().string() +
                             "' && mpirun -np 2 --oversubscribe --allow-run-as-root --bind-to none '" +
                             built("program") + "' train train.yml --set output=mpi 2>mpi.txt";
  ASSERT_EQ(std::system(launch.c_str()), 0) << file_content(folder_ / "mpi.txt");
  EXPECT_THAT(file_content(folder_ / "mpi.txt"), HasSubstr("2 processes by"));
  EXPECT_TRUE(weights("mpi") == weights("one"));
  // What differs is refused, and the status says so.
  const std::string differing =
      "cd '" + folder_.path().string() + "' && mpirun --oversubscribe --allow-run-as-root --bind-to none -np 1 '" +
      built("program") + "' train train.yml --set output=differ : -np 1 '" + built("program") +
      "' train train.yml --set output=differ --set training.seed=7 2>differ.txt";
  EXPECT_NE(std::system(differing.c_str()), 0);
  EXPECT_THAT(file_content(folder_ / "differ.txt"), AllOf(HasSubstr("rank 1 ("), HasSubstr("training.seed")));
}

TEST_F(ManyProcessesCommand, AKilledOneEndsTheOthersAndTheRunGoesOnWithAnotherNumber) {
  ASSERT_EQ(run("train train.yml --set output=whole --set training.updates=400").status, 0);
  const std::string recipe = "train train.yml --set training.updates=400";
  {
    const auto workers = start(2, recipe);
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(folder_ / "run/checkpoint-5"); }));
    workers[1]->signal(SIGKILL);
    EXPECT_EQ(workers[0]->wait(), 1);
    EXPECT_THAT(workers[0]->error(), AllOf(HasSubstr("rank 0 ("), HasSubstr("rank 1 ("), HasSubstr("was killed")));
  }
  const Outcome resumed = run(recipe + " --resume");
  EXPECT_EQ(resumed.status, 0) << resumed.error;
  EXPECT_TRUE(weights("run") == weights("whole"));
}

TEST_F(ManyProcessesCommand, AStopOfOneIsAStopOfAll) {
  const std::string recipe = "train train.yml --set training.updates=100000";
  const auto workers = start(3, recipe + " --set training.accumulate=3");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(folder_ / "run/checkpoint-5"); }));
  workers[2]->signal(SIGTERM);
  for (const auto& worker : workers) EXPECT_EQ(worker->wait(), 130) << worker->error();
  EXPECT_THAT(workers[0]->error(), HasSubstr("the state is saved in run/checkpoint-"));
}

TEST_F(ManyProcessesCommand, SaysWhatIsWrongWithTheLaunch) {
  const auto error_of = [&](const std::string& variables, const std::string& more = "") {
    Worker worker(folder_.path(), 9, variables, "train train.yml " + more);
    EXPECT_EQ(worker.wait(), 1) << variables;
    return worker.error();
  };
  EXPECT_THAT(error_of("RANK=x WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=4000"), HasSubstr("RANK is 'x'"));
  EXPECT_THAT(error_of("RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1"), HasSubstr("MASTER_PORT"));
  EXPECT_THAT(error_of("RANK=0 WORLD_SIZE=2"), AllOf(HasSubstr("MASTER_ADDR is missing"), HasSubstr("--shard 1/1")));
  EXPECT_THAT(error_of("RANK=2 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=4000"),
              HasSubstr("rank 2 of a job of 2"));
  EXPECT_THAT(error_of("A=b", "--collective tcp"), HasSubstr("RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"));
  EXPECT_THAT(error_of("A=b", "--collective nccl"), HasSubstr("no variables of a launcher are set"));
  EXPECT_THAT(error_of("A=b", "--collective smoke"), HasSubstr("no collective is called 'smoke'"));
  EXPECT_THAT(error_of(job_variables(0, 2, collective::testing::free_port()), "--join-timeout 1"),
              HasSubstr("1 of 2 processes have not come"));
  EXPECT_THAT(error_of(job_variables(1, 2, collective::testing::free_port()), "--join-timeout 1"),
              HasSubstr("cannot reach rank 0"));
}

/// Slurm's variables, for which rank 0's machine and a port are made out.
TEST_F(ManyProcessesCommand, StartedBySrunWithoutMpi) {
  ASSERT_EQ(run("train train.yml --set output=one").status, 0);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int rank = 0; rank < 2; ++rank)
    workers.push_back(std::make_unique<Worker>(
        folder_.path(), rank,
        "SLURM_PROCID=" + std::to_string(rank) + " SLURM_LOCALID=" + std::to_string(rank) +
            " SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NODELIST='localhost,node[02-04]' SLURM_JOB_ID=" +
            std::to_string(10000 + ::getpid() % 9000),
        "train train.yml --set output=slurm"));
  for (const auto& worker : workers) EXPECT_EQ(worker->wait(), 0) << worker->error();
  EXPECT_TRUE(weights("slurm") == weights("one"));
}

TEST_F(ManyProcessesCommand, TranslateAShardEach) {
  ASSERT_EQ(run("train train.yml --set training.updates=3").status, 0);
  const std::string translate = "translate --quiet --model run/last --input train.src --decoder greedy ";
  ASSERT_EQ(run(translate + "--output whole").status, 0);
  for (const auto& worker : start(2, translate + "--output parts")) EXPECT_EQ(worker->wait(), 0) << worker->error();
  const std::string joined = file_content(folder_ / "parts.1-of-2") + file_content(folder_ / "parts.2-of-2");
  ASSERT_FALSE(joined.empty());
  EXPECT_EQ(joined, file_content(folder_ / "whole"));
  Worker lost(folder_.path(), 0, job_variables(0, 2, 4000), translate);
  EXPECT_EQ(lost.wait(), 2);
  EXPECT_THAT(lost.error(), HasSubstr("name one by --output"));
}

}  // namespace
}  // namespace dragoman::testing
