#include "nccl.h"

#include "nccl/nccl_api.h"

#include <vector>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Links by the real NCCL, as far as one process shows them; what several do is tested with emulated devices, and by
// scripts/test-gpu where there are two GPUs.
namespace dragoman::backend::cuda {
namespace {

int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

TEST(Nccl, IsOfferedWithADeviceOrSaysWhatIsMissing) {
  const collective::LinkOffer offer = offer_nccl(0);
  if (load_nccl().api == nullptr) {
    EXPECT_THAT(offer.trouble,
                ::testing::AnyOf(::testing::HasSubstr("is not here"), ::testing::HasSubstr("is needed")));
    return;
  }
  EXPECT_EQ(offer.trouble, "");
  EXPECT_THAT(offer.version, ::testing::StartsWith("NCCL 2."));
  EXPECT_EQ(offer.device.empty(), devices() == 0);
}

TEST(Nccl, MakesACommunicatorOfOne) {
  if (devices() == 0) GTEST_SKIP() << "there is no GPU";
  if (load_nccl().api == nullptr) GTEST_SKIP() << load_nccl().found;
  const auto ranks = collective::make_single();
  const auto links = make_nccl_links({.ranks = *ranks});
  const std::vector<collective::DeviceLinks::Bytes> outgoing(1);
  const std::vector<collective::DeviceLinks::Room> incoming(1);
  for (int times = 0; times < 3; ++times) links->exchange(outgoing, incoming);
  links->wait();
}

}  // namespace
}  // namespace dragoman::backend::cuda
