#include "mpi_job.h"
#include "small_task.h"
#include "test_data.h"

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
  MpiJob start(const std::string& arguments, const std::string& first = with_nccl(),
               const std::string& second = with_nccl()) const {
    return {folder_.path(), {{arguments, first}, {arguments, second}}};
  }
  std::string weights(const std::string& run) const { return file_content(folder_ / run / "last/model.safetensors"); }

  TemporaryFolder folder_;
};

/// Those that need mpirun.
class NcclJobs : public NcclProcesses {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "there is no mpirun, or Dragoman was built without MPI";
  }
};

TEST_F(NcclJobs, HaveTheBytesOfMpiAndOfOne) {
  ASSERT_EQ(run_dragoman(folder_.path(), train("--set output=one")).status, 0) << file_content(folder_ / "stderr.txt");
  ASSERT_FALSE(weights("one").empty());
  for (const std::string collective : {"auto", "nccl", "mpi"}) {
    MpiJob job = start(train("--collective " + collective + " --set output=" + collective));
    EXPECT_EQ(job.wait(), 0) << job.all_errors(2);
    EXPECT_TRUE(weights(collective) == weights("one")) << collective;
    EXPECT_THAT(job.error_of(0), HasSubstr("2 processes by "));
    const auto by_nccl = HasSubstr(", gradients by NCCL 2.23.4: ");
    if (collective == "mpi")
      EXPECT_THAT(job.error_of(0), Not(by_nccl));
    else
      EXPECT_THAT(job.error_of(0), by_nccl);
  }
}

TEST_F(NcclJobs, EndWhenOneIsKilled) {
  for (const std::string& quiet : {std::string(), std::string(" FAKE_NCCL_SILENT=1")}) {
    std::filesystem::remove_all(folder_ / "run");
    MpiJob job = start(train("--set training.updates=100000"), with_nccl() + quiet, with_nccl() + quiet);
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(folder_ / "run/checkpoint-4"); }));
    job.signal(1, SIGKILL);
    EXPECT_GT(job.wait(), 0) << job.all_errors(2);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run/last"));
  }
}

TEST_F(NcclJobs, SayWhyTheyAreNotLinked) {
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
    MpiJob refused = start(train("--collective nccl --set output=refused", why.device), why.first, why.second);
    EXPECT_GT(refused.wait(), 0);
    EXPECT_THAT(refused.all_errors(2),
                AllOf(HasSubstr("the devices cannot be linked by nccl: rank "), HasSubstr(why.reason)));
  }
  // Left to us the host's memory is a way, too.
  MpiJob job = start(train("--set output=host"), here, nowhere);
  EXPECT_EQ(job.wait(), 0) << job.all_errors(2);
  EXPECT_THAT(job.error_of(0),
              AllOf(HasSubstr("gradients go through the host's memory: rank 1 ("), HasSubstr("is not here")));
}

TEST_F(NcclJobs, OnOtherDevicesHaveNone) {
  MpiJob refused = start("train train.yml --collective nccl");
  EXPECT_GT(refused.wait(), 0);
  EXPECT_THAT(refused.all_errors(2), HasSubstr("it computes on the device 'cpu', for which there is no nccl"));
  MpiJob job = start("train train.yml --set output=cpu");
  EXPECT_EQ(job.wait(), 0) << job.all_errors(2);
  EXPECT_THAT(job.error_of(0), Not(HasSubstr("host's memory")));
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
