#include "error_message.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::formats {
namespace {

using dragoman::testing::error_of;
using dragoman::testing::golden_file;
using dragoman::testing::TemporaryFolder;
using tensor::DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
tensor::Tensor view(const std::vector<T>& values, std::int64_t rows = 1) {
  const auto cols = static_cast<std::int64_t>(values.size()) / rows;
  return {const_cast<T*>(values.data()), rows, cols, cols, tensor::dtype_of<T>(), tensor::Device::kCpu};
}

// Same tensors, same order, same metadata as in golden/make_golden.py.
TEST(SafetensorsWriter, WritesTheBytesOfTheReferenceImplementation) {
  const TemporaryFolder folder;
  SafetensorsWriter writer(folder / "mine",
                           {{"double", DType::kF64, {2, 2}},
                            {"empty", DType::kF32, {0, 4}},
                            {"encoder.weight", DType::kF32, {2, 3}},
                            {"scalar", DType::kF32, {}},
                            {"half", DType::kF16, {3}}},
                           {{"format", "pt"}});
  writer.write(view<double>({0.1, -1.0, 1e300, 3.0}, 2));
  writer.write(view<float>({0, 1.0F / 7, 2.0F / 7, 3.0F / 7, 4.0F / 7, 5.0F / 7}, 2));
  writer.write(view<float>({2.5F}));
  writer.write(view<float>({0.1F, -2.5F, 65504.0F}));
  writer.finish();
  EXPECT_EQ(core::read_file(folder / "mine"), core::read_file(golden_file("sample.safetensors")));
}

TEST(SafetensorsWriter, TakesATensorInPartsAndWithAStride) {
  const TemporaryFolder folder;
  SafetensorsWriter writer(folder / "f", {{"a", DType::kF32, {2, 3}}, {"b", DType::kF32, {2}}});
  const std::vector<float> wide{1, 2, 3, -1, 4, 5, 6, -1};
  tensor::Tensor strided = view(wide, 2).col_range(0, 3);
  writer.write(strided.row_range(0, 1));
  writer.write(strided.row_range(1, 2));
  writer.write(view<float>({7}));
  writer.write(view<float>({8}));
  writer.finish();
  const SafetensorsFile file = SafetensorsFile::open(folder / "f");
  std::vector<float> a(6);
  std::vector<float> b(2);
  file.read(*file.find("a"), view(a));
  file.read(*file.find("b"), view(b));
  EXPECT_THAT(a, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(b, ElementsAre(7, 8));
}

TEST(SafetensorsWriter, TensorsAreAlignedToTheirTypes) {
  const TemporaryFolder folder;
  // Names of many lengths, so that the header's length before padding takes every value modulo 8.
  for (std::size_t n = 1; n <= 16; ++n) {
    SafetensorsWriter writer(folder / "f", {{std::string(n, 'n'), DType::kF64, {1}}, {"half", DType::kF16, {1}}});
    writer.write(view<double>({1}));
    writer.write(view<double>({2}));
    writer.finish();
    EXPECT_EQ(SafetensorsFile::open(folder / "f").find(std::string(n, 'n'))->offset % 8, 0U);
  }
  EXPECT_THAT(error_of([&] {
                SafetensorsWriter(folder / "g", {{"a", DType::kF16, {1}}, {"b", DType::kF32, {1}}});
              }),
              HasSubstr("'b' would not be aligned"));
}

TEST(SafetensorsWriter, NothingAppearsBeforeTheEnd) {
  const TemporaryFolder folder;
  core::write_file(folder / "f", "old");
  {
    SafetensorsWriter writer(folder / "f", {{"a", DType::kF32, {2}}});
    writer.write(view<float>({1}));
    EXPECT_THAT(error_of([&] { writer.finish(); }), HasSubstr("'a' has not been written"));
  }
  EXPECT_EQ(core::read_file(folder / "f"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "f.partial")) << "half a file of weights is worth nothing";
  SafetensorsWriter writer(folder / "f", {{"a", DType::kF32, {2}}});
  writer.write(view<float>({1, 2}));
  writer.finish();
  EXPECT_EQ(SafetensorsFile::open(folder / "f").tensors().size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(folder / "f.partial"));
}

TEST(SafetensorsWriter, RefusesWhatCannotBeStored) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] {
                SafetensorsWriter(folder / "f", {{"a", DType::kF32, {1}}, {"a", DType::kF32, {1}}});
              }),
              HasSubstr("two tensors named 'a'"));
  EXPECT_THAT(error_of([&] {
                SafetensorsWriter(folder / "f", {{"__metadata__", DType::kF32, {1}}});
              }),
              HasSubstr("__metadata__"));
  EXPECT_THAT(error_of([&] {
                SafetensorsWriter(folder / "f", {{"a", DType::kF32, {-1}}});
              }),
              HasSubstr("impossible shape [-1]"));
  EXPECT_THAT(error_of([&] {
                SafetensorsWriter(folder / "f", {{"a", DType::kF32, {1LL << 40, 1LL << 40}}});
              }),
              HasSubstr("impossible shape"));
  SafetensorsWriter writer(folder / "f", {{"a", DType::kF32, {1}}});
  EXPECT_THAT(error_of([&] {
                writer.write(view<float>({1, 2}));
              }),
              HasSubstr("room for 1 more values and was given 2"));
  writer.write(view<float>({1}));
  EXPECT_THAT(error_of([&] { writer.write(view<float>({2})); }), HasSubstr("after the last tensor"));
}

}  // namespace
}  // namespace dragoman::formats
