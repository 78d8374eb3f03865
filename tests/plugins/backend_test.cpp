#include "error_message.h"
#include "planted/twice.h"
#include "program.h"
#include "test_data.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/plugins/host.h>

namespace dragoman::plugins {
namespace {

using tensor::Device;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

const std::string kFolder = testing::built("planted_plugins");

std::vector<std::string> names_of(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device device : devices) names.push_back(tensor::name_of(device));
  return names;
}

TEST(Backends, TheBuiltInOnesAreThereAndOthersAreAskedFor) {
  Host host({.plugin_folder = kFolder});
  EXPECT_THAT(names_of(host.runtime().devices()), ElementsAre("cpu", "reference"));
  EXPECT_EQ(host.device("cpu"), Device::kCpu);
  EXPECT_EQ(host.device("reference:0"), Device::kReference);
  EXPECT_TRUE(host.loader().loaded().empty());

  const Device second = host.device("mirror:1");
  EXPECT_EQ(tensor::name_of(second), "mirror:1");
  EXPECT_EQ(host.loader().loaded().size(), 1U);
  EXPECT_EQ(tensor::name_of(host.device("mirror")), "mirror");
  EXPECT_THAT(names_of(host.runtime().devices()), ElementsAre("cpu", "reference", "mirror", "mirror:1"));
  core::SequentialExecutor executor;
  EXPECT_EQ(host.runtime().make_context(second, executor)->device(), second);
}

TEST(Backends, WhatIsNotHereIsRefusedWithAListOfWhatIs) {
  Host host({.plugin_folder = kFolder});
  for (const char* name : {"gpu", "", "cpu:1", "cpu:", "../mirror", "good"})
    EXPECT_THAT(error_of([&] { host.device(name); }), HasSubstr("here are: cpu, reference")) << name;
  EXPECT_THAT(error_of([&] { host.device("mirror:2"); }),
              AllOf(HasSubstr("'mirror:2' is not on this machine, which has 2 of its kind"), HasSubstr("mirror:1")));
  for (const char* name : {"cuda", "cuda:1"})
    EXPECT_THAT(error_of([&] { host.device(name); }),
                AllOf(HasSubstr(std::string("the device '") + name + "' is not here"), HasSubstr("no plugin 'cuda'")));
  EXPECT_THAT(error_of([&] { static_cast<void>(host.runtime().kernels(Device::of("cuda"))); }),
              HasSubstr("the device 'cuda' is not here"));
}

/// What the CPU cannot do is refused, and not left out; unless the choice of the device was ours.
TEST(Backends, OptionsOfDevicesAreAsked) {
  Host host({.plugin_folder = kFolder});
  EXPECT_EQ(host.device("cpu", {.batch_invariant = true}), Device::kCpu);
  EXPECT_THAT(error_of([&] { host.device("cpu", {.memory = 1}); }), HasSubstr("'cpu' computes in the host's"));
  EXPECT_THAT(error_of([&] { host.device("reference", {.kernel_times = true}); }),
              HasSubstr("'reference' measures no times of kernels"));
  EXPECT_EQ(host.device("auto", {.memory = 1, .kernel_times = true}), Device::kCpu);
}

TEST(Backends, AKernelWaitsForItsBackend) {
  Host host({.plugin_folder = kFolder});
  host.loader().load("good");
  EXPECT_EQ(host.registry().kernels().size(), 2U) << "for the CPU and the reference";
  const Device mirror = host.device("mirror");
  EXPECT_EQ(host.registry().kernels().size(), 3U);
  EXPECT_NE(host.runtime().kernels(mirror).find(planted::kTwice), nullptr);
}

TEST(Backends, ARefusedPluginTakesItsBackendWithIt) {
  Host host({.plugin_folder = kFolder});
  EXPECT_THAT(error_of([&] { host.loader().load(kFolder + "/half_mirror.so"); }), HasSubstr("already has a kernel"));
  EXPECT_THAT(names_of(host.runtime().devices()), ElementsAre("cpu", "reference"));
  EXPECT_TRUE(host.registry().backends().empty());
}

/// From the command line: the model that is bundled, translated on the other device, gives the bytes of the CPU.
class OtherDevice : public ::testing::Test {
 protected:
  testing::Outcome run(const std::string& arguments) {
    return testing::run_dragoman(folder_.path(), arguments + " --plugin " + kFolder + "/mirror.so");
  }
  const std::string model_ = testing::in_source("examples/multi30k/model");
  testing::TemporaryFolder folder_;
};

TEST_F(OtherDevice, TranslatesAndScoresAsTheCpuDoes) {
  std::ofstream(folder_ / "de") << "Ein Hund läuft über eine Wiese.\nZwei Männer spielen Fußball.\n\nDrei Kinder.\n";
  const auto cpu = run("translate --quiet -m '" + model_ + "' -i de --format jsonl --device cpu");
  ASSERT_EQ(cpu.status, 0) << cpu.error;
  EXPECT_THAT(cpu.output, HasSubstr("dog"));
  for (const char* device : {"mirror", "mirror:1"}) {
    const auto other = run("translate --quiet -m '" + model_ + "' -i de --format jsonl --device " + device);
    EXPECT_EQ(other.status, 0) << other.error;
    EXPECT_EQ(other.output, cpu.output);
  }
  const std::string score = "score --quiet -m '" + model_ + "' --source de --target de --device ";
  EXPECT_EQ(run(score + "mirror:1").output, run(score + "cpu").output);
  EXPECT_THAT(run("translate -m '" + model_ + "' -i de --device npu").error,
              HasSubstr("unknown device 'npu'; here are: cpu, reference, mirror, mirror:1"));
}

TEST_F(OtherDevice, IsShownByDoctorAndPluginsList) {
  EXPECT_THAT(run("doctor").output, HasSubstr("mirror     2 devices: the CPU in a mirror; --compute fp32, bf16, "));
  EXPECT_THAT(run("plugins list").output, ::testing::ContainsRegex("backend +mirror +mirror +--device mirror"));
}

}  // namespace
}  // namespace dragoman::plugins
