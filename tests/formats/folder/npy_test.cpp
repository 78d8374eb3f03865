#include "dragoman/formats/npy.h"

#include "file_size_limit.h"
#include "test_data.h"

#include <filesystem>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::formats {
namespace {

/// The golden files are NumPy's (2.4.6):
///
///     numpy.save('numpy_2x3x1.npy', numpy.array([1, 2.5, -3, 0, float('inf'), 6e-20], dtype='<f4').reshape(2, 3, 1))
///     numpy.save('numpy_3.npy', numpy.array([1, 2, 3], dtype='<f4'))
TEST(WriteNpy, WritesWhatNumPyWrites) {
  const dragoman::testing::TemporaryFolder folder;
  const auto expect_same = [&](const std::string& golden, const std::vector<std::int64_t>& shape,
                               const std::vector<float>& values) {
    write_npy(folder / "a.npy", shape, values);
    EXPECT_EQ(core::read_file(folder / "a.npy"), core::read_file(dragoman::testing::golden_file(golden))) << golden;
  };
  expect_same("numpy_2x3x1.npy", {2, 3, 1}, {1, 2.5F, -3, 0, std::numeric_limits<float>::infinity(), 6e-20F});
  expect_same("numpy_3.npy", {3}, {1, 2, 3});
}

/// Half an array is of no use.
TEST(WriteNpy, LeavesNothingOnAFullDisk) {
  const dragoman::testing::TemporaryFolder folder;
  const std::vector<std::int64_t> shape{100'000};
  const std::vector<float> values(100'000);
  {
    const dragoman::testing::FileSizeLimit full(1000);
    EXPECT_THROW(write_npy(folder / "a.npy", shape, values), core::Error);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(WriteNpy, RefusesValuesThatDoNotFillTheShape) {
  const dragoman::testing::TemporaryFolder folder;
  const std::vector<std::int64_t> shape{2, 2};
  const std::vector<float> values{1, 2, 3};
  EXPECT_THROW(write_npy(folder / "a.npy", shape, values), core::Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.npy"));
}

}  // namespace
}  // namespace dragoman::formats
