#include "op_harness.h"

#include <dragoman/ops/extend_lists.h>

namespace dragoman::testing {
namespace {

using Numbers = std::vector<std::int32_t>;

class ExtendListsTest : public ::testing::TestWithParam<Device> {
 protected:
  ops::DeviceIndices upload(const Numbers& numbers) { return rig_.context().upload(std::span(numbers)); }
  Tensor tensor(std::int64_t count) {
    return rig_.context().arena().allocate(1, count, tensor::DType::kI32, rig_.context().device());
  }
  Numbers fetched(const Tensor& tensor) {
    Numbers numbers(static_cast<std::size_t>(tensor.size()));
    rig_.context().memory().copy_out(numbers.data(), tensor.data, numbers.size() * sizeof(std::int32_t));
    return numbers;
  }
  /// Of `before`, whose lists begin at the offsets; checks both copies.
  Numbers extended(const Numbers& before, const Numbers& before_offsets, const Numbers& parents, const Numbers& added,
                   const Numbers& added_offsets, const Numbers& offsets) {
    const Tensor on_device = tensor(static_cast<std::int64_t>(before.size()));
    rig_.context().memory().copy_in(on_device.data, before.data(), before.size() * sizeof(std::int32_t));
    const Tensor lists = tensor(offsets.back());
    const Tensor kept = tensor(offsets.back());
    rig_.context().kernels().get(ops::kExtendLists)(rig_.context(), {.before = on_device,
                                                                     .before_offsets = upload(before_offsets),
                                                                     .parents = upload(parents),
                                                                     .added = upload(added),
                                                                     .added_offsets = upload(added_offsets),
                                                                     .offsets = upload(offsets),
                                                                     .lists = lists,
                                                                     .kept = kept});
    EXPECT_EQ(fetched(kept), fetched(lists));
    return fetched(lists);
  }

  Rig rig_{GetParam(), 2};
};
INSTANTIATE_TEST_SUITE_P(ExtendLists, ExtendListsTest, kAllDevices, device_name);

TEST_P(ExtendListsTest, TakesTheParentsListAndAppends) {
  const Numbers before{1, 2, 3, 10, 11};
  // Lists of the last row twice, of the first one, and of none, to which a whole prefix is added.
  EXPECT_EQ(extended(before, {0, 3, 5}, {1, 1, 0, -1}, {20, 21, 22, 23, 24}, {0, 1, 2, 3, 5}, {0, 3, 6, 10, 12}),
            (Numbers{10, 11, 20, 10, 11, 21, 1, 2, 3, 22, 23, 24}));
}

/// Longer than a block has threads.
TEST_P(ExtendListsTest, LongListsAndManyRows) {
  constexpr std::int32_t kRows = 70;
  constexpr std::int32_t kLength = 300;
  Numbers before, before_offsets{0}, parents, added, added_offsets{0}, offsets{0}, expected;
  for (std::int32_t row = 0; row < kRows; ++row) {
    for (std::int32_t i = 0; i < kLength; ++i) before.push_back(row * 1000 + i);
    before_offsets.push_back(static_cast<std::int32_t>(before.size()));
  }
  for (std::int32_t row = 0; row < kRows; ++row) {
    const std::int32_t parent = row * 37 % kRows;
    parents.push_back(parent);
    added.push_back(-row);
    added_offsets.push_back(row + 1);
    offsets.push_back(offsets.back() + kLength + 1);
    for (std::int32_t i = 0; i < kLength; ++i) expected.push_back(parent * 1000 + i);
    expected.push_back(-row);
  }
  EXPECT_EQ(extended(before, before_offsets, parents, added, added_offsets, offsets), expected);
}

}  // namespace
}  // namespace dragoman::testing
