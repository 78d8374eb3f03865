#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/backend_cuda/memory_use.h>
#include <dragoman/core/error.h>

namespace dragoman::backend::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MemoryUse, TheLeastBoundHolds) {
  MemoryUse use;
  use.take(std::uint64_t{1} << 40, 0);
  use.give_back(std::uint64_t{1} << 40);
  use.bound(1000);
  use.bound(5000);
  use.take(600, 0);
  use.take(400, 0);
  EXPECT_THAT(error_of([&] { use.take(1, 0); }), HasSubstr("1.0 kB"));
  EXPECT_EQ(use.taken(), 1000U);
  use.give_back(400);
  EXPECT_THAT(error_of([&] { use.take(401, 3); }),
              AllOf(HasSubstr("device 3: "), HasSubstr("`memory`"), HasSubstr("600 B"), HasSubstr("smaller batches")));
  use.take(400, 0);
  EXPECT_THAT(error_of([&] { use.take(UINT64_MAX, 0); }), HasSubstr("beyond"));
  EXPECT_EQ(use.taken(), 1000U);
  use.bound(10);  // of what is taken nothing is lost
  use.give_back(1000);
  EXPECT_THAT(error_of([&] { use.take(11, 0); }), HasSubstr("10 B"));
}

TEST(MemoryUse, AFullDeviceSaysWhoseTheMemoryIs) {
  EXPECT_THAT(error_of([] { fail_for_memory(3'000'000, 1, 1'000'000, 80'000'000, 20'000'000); }),
              AllOf(HasSubstr("device 1 has no room for 3.0 MB more"), HasSubstr("1.0 MB of its 80.0 MB are free"),
                    HasSubstr("20.0 MB are this program's"), HasSubstr("smaller batches")));
}

}  // namespace
}  // namespace dragoman::backend::cuda
