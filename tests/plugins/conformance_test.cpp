#include "dragoman/conformance/conformance.h"

#include "teaching_model.h"
#include "test_data.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::plugins {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Fault;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Host& host_with_teaching_kernels() {
  static Host host;
  static const bool added = [] {
    Registrar registrar;
    testing::add_teaching_kernels(registrar);
    host.registry().add("teaching", registrar.take());
    return true;
  }();
  static_cast<void>(added);
  return host;
}

std::vector<Verdict> verdicts_on(Fault fault) {
  const testing::TemporaryFolder scratch;
  return check_model(host_with_teaching_kernels(), testing::teaching_model(fault), {.scratch_folder = scratch.path()});
}

std::set<std::string> failed_checks(const std::vector<Verdict>& verdicts) {
  std::set<std::string> failed;
  for (const Verdict& verdict : verdicts)
    if (!verdict.passed) failed.insert(verdict.check);
  return failed;
}

std::string complaints(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts)
    if (!verdict.passed)
      text += verdict.subject + " " + verdict.device + " " + verdict.check + ": " + verdict.detail + "\n";
  return text;
}

/// Which check is there to find the fault. A fault may well break other promises, too: a model that sees the future
/// gives other states when it steps.
const std::map<Fault, std::string> kFoundBy = {{Fault::kWrongGradient, "finite-differences"},
                                               {Fault::kDetachedParameter, "every-parameter"},
                                               {Fault::kUnusedParameter, "every-parameter"},
                                               {Fault::kPositionOffByOne, "cached-steps"},
                                               {Fault::kPrefixAtOnePosition, "forced-prefix"},
                                               {Fault::kBatchNormalisation, "batch-invariance"},
                                               {Fault::kStateByRow, "beam-order"},
                                               {Fault::kSeesTheFuture, "causality"},
                                               {Fault::kIgnoresSource, "dependence"},
                                               {Fault::kForgetsHistory, "dependence"},
                                               {Fault::kScaleInTrainingOnly, "training-mode"},
                                               {Fault::kCounts, "determinism"},
                                               {Fault::kUnsavedValue, "round-trip"},
                                               {Fault::kForgetfulConfig, "round-trip"},
                                               {Fault::kAlignsElsewhere, "alignment"},
                                               {Fault::kWrongCpuKernel, "device"},
                                               {Fault::kThrows, "cached-steps"}};

TEST(Conformance, AModelWithoutAFaultPassesEveryCheckOnEveryDevice) {
  const std::vector<Verdict> verdicts = verdicts_on(Fault::kNone);
  EXPECT_THAT(complaints(verdicts), IsEmpty());
  std::set<std::string> ran;
  for (const Verdict& verdict : verdicts) ran.insert(verdict.device + " " + verdict.check);
  EXPECT_THAT(ran, Contains("reference finite-differences"));
  for (const CheckDescription& check : conformance_checks())
    EXPECT_TRUE(ran.contains("cpu " + std::string(check.name)) || ran.contains("reference " + std::string(check.name)))
        << check.name;
}

class PlantedFault : public ::testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsFound) {
  const std::vector<Verdict> verdicts = verdicts_on(GetParam());
  EXPECT_THAT(failed_checks(verdicts), Contains(kFoundBy.at(GetParam()))) << complaints(verdicts);
}

INSTANTIATE_TEST_SUITE_P(Conformance, PlantedFault, ::testing::ValuesIn(testing::all_faults()),
                         [](const auto& test) { return testing::name_of(test.param); });

/// Faults that touch one promise only must not make the other checks cry wolf.
class SingleFault : public ::testing::TestWithParam<Fault> {};

TEST_P(SingleFault, FailsNoOtherCheck) {
  const std::vector<Verdict> verdicts = verdicts_on(GetParam());
  EXPECT_THAT(failed_checks(verdicts), ElementsAre(kFoundBy.at(GetParam()))) << complaints(verdicts);
}

INSTANTIATE_TEST_SUITE_P(Conformance, SingleFault,
                         ::testing::Values(Fault::kUnusedParameter, Fault::kPrefixAtOnePosition, Fault::kIgnoresSource,
                                           Fault::kForgetfulConfig, Fault::kAlignsElsewhere, Fault::kWrongCpuKernel),
                         [](const auto& test) { return testing::name_of(test.param); });

TEST(Conformance, EveryCheckHasAFaultThatItFinds) {
  std::set<std::string> covered;
  for (const auto& [fault, check] : kFoundBy) covered.insert(check);
  // Any state kept outside of the DecoderState breaks a running pool as it breaks a beam: seen below.
  covered.insert("refill");
  for (const CheckDescription& check : conformance_checks())
    EXPECT_TRUE(covered.contains(std::string(check.name))) << check.name;
}

TEST(Conformance, StateByRowAlsoBreaksARunningPool) {
  EXPECT_THAT(failed_checks(verdicts_on(Fault::kStateByRow)), Contains("refill"));
}

TEST(Conformance, AnExceptionIsAFindingWithItsMessage) {
  EXPECT_THAT(complaints(verdicts_on(Fault::kThrows)), HasSubstr("the model threw: planted: the step fails"));
}

TEST(Conformance, TheBuiltInModelsPass) {
  const testing::TemporaryFolder scratch;
  const Host host;
  const std::vector<Verdict> verdicts = check_provider(host, kBuiltin, {.scratch_folder = scratch.path()});
  EXPECT_GE(verdicts.size(), conformance_checks().size());
  EXPECT_THAT(complaints(verdicts), IsEmpty());
}

TEST(Conformance, TheSsruPluginPasses) {
  const testing::TemporaryFolder scratch;
  const Host host({.plugins = {DRAGOMAN_SSRU_PLUGIN}});
  const std::vector<Verdict> verdicts = check_provider(host, "ssru", {.scratch_folder = scratch.path()});
  EXPECT_GE(verdicts.size(), conformance_checks().size());
  EXPECT_THAT(complaints(verdicts), IsEmpty());
}

TEST(Conformance, AnOpWithoutAReferenceKernelIsFound) {
  struct Arguments {};
  static constexpr tensor::KernelKey<void(tensor::Context&, const Arguments&)> kLonely{"lonely"};
  Host host;
  Registrar registrar;
  registrar.add_kernel(tensor::Device::kCpu, kLonely, [](tensor::Context&, const Arguments&) {});
  host.registry().add("guest", registrar.take());
  const std::vector<Verdict> verdicts = check_provider(host, "guest", {});
  EXPECT_EQ(complaints(verdicts), "lonely reference kernel: missing: models that use the op do not run here\n");
  EXPECT_EQ(verdicts.size(), 2U);
}

}  // namespace
}  // namespace dragoman::plugins
