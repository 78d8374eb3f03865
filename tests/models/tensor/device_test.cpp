#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tensor/device.h>

namespace dragoman::tensor {
namespace {

TEST(Device, IsABackendAndANumber) {
  EXPECT_EQ(name_of(Device()), "cpu");
  EXPECT_EQ(name_of(Device::kReference), "reference");
  EXPECT_EQ(Device::of("cpu"), Device::kCpu);
  EXPECT_EQ(Device::of("reference"), Device::kReference);
  const Device second = Device::of("test-backend", 1);
  EXPECT_EQ(name_of(second), "test-backend:1");
  EXPECT_EQ(second, Device::of("test-backend", 1));
  EXPECT_NE(second, Device::of("test-backend"));
  EXPECT_EQ(second.backend(), "test-backend");
  EXPECT_EQ(second.number(), 1);
}

TEST(Device, RefusesNamesThatCannotBeWritten) {
  for (const char* name : {"", "a b", "cuda:1", "../x", "a\n"}) EXPECT_THROW(Device::of(name), core::Error) << name;
  EXPECT_THROW(Device::of(std::string(65, 'a')), core::Error);
  EXPECT_THROW(Device::of("cuda", -1), core::Error);
  EXPECT_THROW(Device::of("cuda", 256), core::Error);
}

}  // namespace
}  // namespace dragoman::tensor
