#include "ranks.h"
#include "small_task.h"
#include "test_data.h"
#include "worker.h"

#include <gmock/gmock.h>

// The program itself, in processes that have emulated devices and the tests' NCCL.
namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NcclProcesses : public ::testing::Test {
 protected:
  NcclProcesses() {
    const training::testing::SmallTask task(folder_.path(), 40);
    std::ofstream(folder_ / "train.yml") << core::dump_yaml(
        task.tree({"training.updates=6", "training.accumulate=2", "checkpoint.every=2"}));
  }

  static std::string with_nccl(const std::string& file = built("fake_nccl")) { return "DRAGOMAN_TEST_NCCL=" + file; }
  static std::string train(const std::string& more, const std::string& device = "cuda") {
    return "train train.yml --plugin '" + built("emulated_cuda") + "' --device " + device + " " + more;
  }
  /// `variables` of rank r.
  std::vector<std::unique_ptr<Worker>> start(const std::string& arguments, const std::string& first = with_nccl(),
                                             const std::string& second = with_nccl()) const {
    const std::uint16_t port = collective::testing::free_port();
    std::vector<std::unique_ptr<Worker>> workers;
    for (int rank = 0; rank < 2; ++rank)
      workers.push_back(std::make_unique<Worker>(
          folder_.path(), rank, job_variables(rank, 2, port) + " " + (rank == 0 ? first : second), arguments));
    return workers;
  }
  std::string weights(const std::string& run) const { return file_content(folder_ / run / "last/model.safetensors"); }

  TemporaryFolder folder_;
};

TEST_F(NcclProcesses, HaveTheBytesOfTcpAndOfOne) {
  ASSERT_EQ(run_dragoman(folder_.path(), train("--set output=one")).status, 0) << file_content(folder_ / "stderr.txt");
  ASSERT_FALSE(weights("one").empty());
  for (const std::string collective : {"auto", "nccl", "tcp"}) {
    const auto workers = start(train("--collective " + collective + " --set output=" + collective));
    for (const auto& worker : workers) EXPECT_EQ(worker->wait(), 0) << worker->error();
    EXPECT_TRUE(weights(collective) == weights("one")) << collective;
    EXPECT_THAT(workers[0]->error(), HasSubstr(collective == "tcp" ? "2 processes by TCP: "
                                                                   : "2 processes by TCP, gradients by NCCL 2.23.4: "));
  }
}

TEST_F(NcclProcesses, EndWhenOneIsKilled) {
  for (const std::string& quiet : {std::string(), std::string(" FAKE_NCCL_SILENT=1")}) {
    std::filesystem::remove_all(folder_ / "run");
    const auto workers = start(train("--set training.updates=100000"), with_nccl() + quiet, with_nccl() + quiet);
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(folder_ / "run/checkpoint-4"); }));
    workers[1]->signal(SIGKILL);
    EXPECT_EQ(workers[0]->wait(), 1);
    EXPECT_THAT(workers[0]->error(), AllOf(HasSubstr("rank 0 ("), HasSubstr("rank 1 ("), HasSubstr("was killed")));
  }
}

TEST_F(NcclProcesses, SayWhyTheyAreNotLinked) {
  struct Case {
    std::string device;
    std::string first;
    std::string second;
    std::string reason;
  };
  const std::string here = with_nccl(), nowhere = with_nccl("/nowhere/libnccl.so.2");
  for (const Case& why :
       {Case{"cuda", here, nowhere, "libnccl.so.2 is not here"},
        Case{"cuda", here, here + " FAKE_NCCL_VERSION=21801", "has NCCL 2.18.1, and rank 0 ("},
        Case{"cuda", here, here + " FAKE_NCCL_VERSION=21203", "is NCCL 2.12.3; NCCL 2.18.1 or later is needed"},
        Case{"cuda:0", here, here, "compute on the same device (emulated device 0)"}}) {
    const auto refused = start(train("--collective nccl --set output=refused", why.device), why.first, why.second);
    for (const auto& worker : refused) {
      EXPECT_EQ(worker->wait(), 1);
      EXPECT_THAT(worker->error(), AllOf(HasSubstr("--collective nccl: rank "), HasSubstr(why.reason)));
    }
  }
  // Left to us the host's memory is a way, too.
  const auto workers = start(train("--set output=host"), here, nowhere);
  for (const auto& worker : workers) EXPECT_EQ(worker->wait(), 0) << worker->error();
  EXPECT_THAT(workers[0]->error(),
              AllOf(HasSubstr("gradients go through the host's memory: rank 1 ("), HasSubstr("is not here")));
}

TEST_F(NcclProcesses, OnOtherDevicesHaveNone) {
  const auto refused = start("train train.yml --collective nccl");
  for (const auto& worker : refused) {
    EXPECT_EQ(worker->wait(), 1);
    EXPECT_THAT(worker->error(), HasSubstr("it computes on the device 'cpu', for which there is no nccl"));
  }
  const auto workers = start("train train.yml --set output=cpu");
  for (const auto& worker : workers) EXPECT_EQ(worker->wait(), 0) << worker->error();
  EXPECT_THAT(workers[0]->error(), Not(HasSubstr("host's memory")));
}

TEST_F(NcclProcesses, DoctorSaysWhatIsMissing) {
  const auto doctor = [&](const std::string& variables) {
    const std::string command = "cd '" + folder_.path().string() + "' && env " + variables + " '" + built("program") +
                                "' doctor --plugin '" + built("emulated_cuda") + "' >doctor.txt";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return file_content(folder_ / "doctor.txt");
  };
  EXPECT_THAT(doctor(with_nccl()), HasSubstr("nccl       ok: NCCL 2.23.4"));
  EXPECT_THAT(doctor(with_nccl("/nowhere/libnccl.so.2")), HasSubstr("nccl       missing: libnccl.so.2 is not here"));
}

}  // namespace
}  // namespace dragoman::testing
