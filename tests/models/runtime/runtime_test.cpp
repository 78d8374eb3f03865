#include "dragoman/runtime/runtime.h"

#include "error_message.h"

#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/kernels.h>

namespace dragoman::runtime {
namespace {

using tensor::Device;
using tensor::DType;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

core::ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const core::Error& error) {
    return error.code();
  }
  return core::ErrorCode::kInternal;
}

std::vector<std::string> names_of(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device device : devices) names.push_back(tensor::name_of(device));
  return names;
}

std::set<std::string> kernels_of(const Runtime& runtime, Device device) {
  std::set<std::string> names;
  runtime.kernels(device).for_each_name([&](std::string_view name) { names.emplace(name); });
  return names;
}

/// Memory that can be told from another's.
class OwnMemory final : public tensor::DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override { return tensor::host_memory().allocate(bytes); }
  void deallocate(void* data, std::size_t bytes) noexcept override { tensor::host_memory().deallocate(data, bytes); }
};

class NoRecording final : public tensor::StepRecorder {
 public:
  const std::any* replay(const tensor::StepSignature&) override { return nullptr; }
  void begin(const tensor::StepSignature&) override {}
  bool end(std::any) override { return true; }
  bool abandon(const char*) noexcept override { return false; }
};

/// So many devices of a kind, each with memory of its own, that keep steps.
class FakeBackend final : public tensor::Backend {
 public:
  FakeBackend(std::string_view name, int devices) : Backend(name), memories_(static_cast<std::size_t>(devices)) {}
  int device_count() const override { return static_cast<int>(memories_.size()); }
  tensor::DeviceMemory& memory(int number) const override { return memories_[static_cast<std::size_t>(number)]; }
  DType float_type() const override { return DType::kF64; }
  std::string describe() const override { return "nothing"; }
  std::unique_ptr<tensor::StepRecorder> make_recorder(tensor::Context&) const override {
    return std::make_unique<NoRecording>();
  }

 private:
  mutable std::vector<OwnMemory> memories_;
};

TEST(Runtime, BeginsWithTheCpuAndTheReference) {
  const Runtime runtime;
  EXPECT_THAT(names_of(runtime.devices()), ElementsAre("cpu", "reference"));
  EXPECT_EQ(runtime.float_type(Device::kCpu), DType::kF32);
  EXPECT_EQ(runtime.float_type(Device::kReference), DType::kF64);
  EXPECT_EQ(&runtime.memory(Device::kCpu), &tensor::host_memory());
  EXPECT_EQ(runtime.find("cpu"), &runtime.backend(Device::kCpu));
  EXPECT_EQ(runtime.find("tpu"), nullptr);
  EXPECT_EQ(runtime.kernels(Device::kReference).device(), Device::kReference);
}

/// What the CPU computes is compared with the reference, so there is nothing that one has and the other has not, but
/// for what is fused: that is composed where there is no kernel.
TEST(Runtime, TheCpuHasTheKernelsOfTheReference) {
  const Runtime runtime;
  std::set<std::string> cpu = kernels_of(runtime, Device::kCpu);
  std::set<std::string> reference = kernels_of(runtime, Device::kReference);
  EXPECT_GT(reference.size(), 20U);
  ops::for_each_key(ops::kFusedKernels, [&](auto key) { reference.insert(std::string(key.name)); });
  // Of the optional kernels the CPU has these.
  ops::for_each_key(std::tuple{ops::kDroppedLinear, ops::kDroppedLinearBackward},
                    [&](auto key) { reference.insert(std::string(key.name)); });
  EXPECT_EQ(cpu, reference);
}

TEST(Runtime, DevicesAreFoundByTheirNames) {
  Runtime runtime;
  runtime.add(std::make_shared<FakeBackend>("twin", 2));
  EXPECT_EQ(runtime.device("cpu"), Device::kCpu);
  EXPECT_EQ(runtime.device("cpu:0"), Device::kCpu);
  EXPECT_EQ(runtime.device("reference"), Device::kReference);
  EXPECT_EQ(runtime.device("twin"), Device::of("twin", 0));
  EXPECT_EQ(runtime.device("twin:1"), Device::of("twin", 1));
  EXPECT_THAT(names_of(runtime.devices()), ElementsAre("cpu", "reference", "twin", "twin:1"));
  EXPECT_TRUE(runtime.available(Device::of("twin", 1)));
  EXPECT_FALSE(runtime.available(Device::of("twin", 2)));
  EXPECT_FALSE(runtime.available(Device::of("elsewhere")));
  EXPECT_EQ(backend_of("twin:1"), "twin");
  EXPECT_EQ(backend_of("twin"), "twin");
  EXPECT_EQ(backend_of(":1"), "");
}

TEST(Runtime, AnUnknownDeviceIsRefusedWithAListOfThoseHere) {
  const Runtime runtime;
  for (const char* name : {"tpu", "", "CPU", "cpu ", ":0"})
    EXPECT_THAT(error_of([&] { static_cast<void>(runtime.device(name)); }),
                AllOf(HasSubstr("unknown device"), HasSubstr("here are: cpu, reference")))
        << name;
  EXPECT_THAT(error_of([&] { static_cast<void>(runtime.device("tp\nu")); }), HasSubstr(R"(unknown device 'tp\nu')"));
  for (const char* name : {"cpu:1", "cpu:", "cpu:00", "cpu:-1", "cpu:x"})
    EXPECT_THAT(error_of([&] { static_cast<void>(runtime.device(name)); }),
                HasSubstr("is not on this machine, which has 1 of its kind; here are: cpu, reference"))
        << name;
  EXPECT_EQ(code_of([&] { static_cast<void>(runtime.device("tpu")); }), core::ErrorCode::kInvalidArgument);
}

TEST(Runtime, ABackendWithoutDevicesIsKnownButNotHere) {
  Runtime runtime;
  runtime.add(std::make_shared<FakeBackend>("absent", 0));
  EXPECT_NE(runtime.find("absent"), nullptr);
  EXPECT_THAT(names_of(runtime.devices()), ElementsAre("cpu", "reference"));
  EXPECT_THAT(error_of([&] { static_cast<void>(runtime.device("absent")); }),
              HasSubstr("the device 'absent' is not on this machine (nothing); here are: cpu, reference"));
  const auto use = [&] { static_cast<void>(runtime.memory(Device::of("absent"))); };
  EXPECT_THAT(error_of(use), HasSubstr("the device 'absent' is not here; there are: cpu, reference"));
  EXPECT_EQ(code_of(use), core::ErrorCode::kUnsupported);
}

TEST(Runtime, AutoIsTheFirstDeviceOfTheLastBackendThatHasAny) {
  Runtime runtime;
  EXPECT_EQ(tensor::name_of(runtime.device("auto")), "cpu");
  runtime.add(std::make_shared<FakeBackend>("absent", 0));
  EXPECT_EQ(tensor::name_of(runtime.device("auto")), "cpu");
  runtime.add(std::make_shared<FakeBackend>("first", 1));
  runtime.add(std::make_shared<FakeBackend>("second", 3));
  EXPECT_EQ(runtime.device("auto"), Device::of("second", 0));
}

TEST(Runtime, SeveralBackendsAreAddedTogetherOrNotAtAll) {
  Runtime runtime;
  EXPECT_THAT(error_of([&] { runtime.add(std::make_shared<FakeBackend>("cpu", 1)); }),
              HasSubstr("there is a backend called 'cpu' already"));
  runtime.add(std::make_shared<FakeBackend>("twin", 1));
  EXPECT_EQ(runtime.backends().back()->name(), "twin");
  EXPECT_THROW(runtime.add(std::make_shared<FakeBackend>("twin", 1)), core::Error);
  const auto other = std::make_shared<FakeBackend>("other", 1);
  EXPECT_THROW(runtime.add({other, std::make_shared<FakeBackend>("twin", 1)}), core::Error);
  EXPECT_THROW(runtime.add({other, other}), core::Error);
  EXPECT_EQ(runtime.find("other"), nullptr);
  const auto& before = runtime.backends();
  runtime.add({other, std::make_shared<FakeBackend>("third", 1)});
  EXPECT_EQ(runtime.find("other"), other.get());
  EXPECT_EQ(before.size(), 3U) << "a list that was handed out stays as it is";
  EXPECT_EQ(runtime.backends().size(), 5U);
}

TEST(Runtime, KernelsAreAddedWhileOthersUseThoseThatAreThere) {
  constexpr tensor::KernelKey<void(tensor::Context&, const int&)> kFirst{"test_first"}, kSecond{"test_second"};
  constexpr auto kernel = [](tensor::Context&, const int&) {};
  const Runtime runtime;
  tensor::Backend& cpu = runtime.backend(Device::kCpu);
  const tensor::KernelTable& before = cpu.kernels();
  const std::size_t count = before.count();
  core::SequentialExecutor executor;
  const auto context = runtime.make_context(Device::kCpu, executor);
  cpu.add_kernels([&](tensor::KernelTable& table) { table.set(kFirst, kernel); });
  EXPECT_THROW(cpu.add_kernels([&](tensor::KernelTable& table) {
    table.set(kSecond, kernel);
    table.set(kFirst, kernel);
  }),
               core::Error);
  EXPECT_EQ(before.count(), count) << "that of a context does not change";
  EXPECT_EQ(context->kernels().find(kFirst), nullptr);
  EXPECT_NE(cpu.kernels().find(kFirst), nullptr);
  EXPECT_EQ(cpu.kernels().find(kSecond), nullptr) << "of a change that failed nothing stays";
}

TEST(Runtime, ContextsComputeOnTheirDeviceInItsType) {
  const Runtime runtime;
  core::SequentialExecutor executor;
  for (const Device device : runtime.devices()) {
    const auto context = runtime.make_context(device, executor);
    EXPECT_EQ(context->device(), device);
    EXPECT_FALSE(context->records());
    const std::vector<float> ones{1, 2, 3};
    const tensor::Tensor x = tensor::copy_to_step(*context, ones, 1, 3);
    const tensor::Tensor y = ops::add(*context, {x, nullptr}, {x, nullptr}).value;
    EXPECT_EQ(y.dtype, runtime.float_type(device));
    EXPECT_EQ(y.device, device);
    EXPECT_EQ(tensor::element(y, 0, 2), 6);
  }
}

TEST(Runtime, ContextsHaveTheMemoryAndTheRecorderOfTheirDevice) {
  Runtime runtime;
  runtime.add(std::make_shared<FakeBackend>("twin", 2));
  core::SequentialExecutor executor;
  const Device second = runtime.device("twin:1");
  const auto context = runtime.make_context(second, executor);
  EXPECT_EQ(context->device(), second);
  EXPECT_EQ(&context->memory(), &runtime.find("twin")->memory(1));
  EXPECT_NE(&context->memory(), &runtime.memory(runtime.device("twin:0")));
  EXPECT_EQ(context->float_type(), DType::kF64);
  EXPECT_TRUE(context->records());
  EXPECT_EQ(code_of([&] { runtime.make_context(Device::of("twin", 2), executor); }), core::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace dragoman::runtime
