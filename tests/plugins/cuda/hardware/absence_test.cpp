#include "cuda_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/runtime/runtime.h>

// The real backend on a machine without a GPU.
namespace dragoman::backend::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CudaWithoutDevice, SaysWhatIsMissing) {
  const auto backend = std::make_shared<CudaBackend>();
  if (backend->device_count() > 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(backend->describe(), StartsWith("no device: "));
  EXPECT_THAT(backend->missing(), ::testing::ElementsAre(backend->describe()));
  backend->configure({.batch_invariant = true, .memory = 1 << 30});
  runtime::Runtime runtime;
  runtime.add(backend);
  EXPECT_EQ(tensor::name_of(runtime.device("auto")), "cpu");
  for (const char* name : {"cuda", "cuda:1"}) {
    try {
      static_cast<void>(runtime.device(name));
      FAIL() << name;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr(std::string("the device '") + name + "' is not on this machine (no device: "));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace dragoman::backend::cuda
