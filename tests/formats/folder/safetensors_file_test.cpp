#include "dragoman/formats/safetensors.h"
#include "test_data.h"

#include <bit>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::formats {
namespace {

using dragoman::testing::golden_file;
using dragoman::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
tensor::Tensor view(std::vector<T>& values, tensor::DType dtype) {
  const auto n = static_cast<std::int64_t>(values.size());
  return {values.data(), 1, n, n, dtype, tensor::Device::kCpu};
}

std::vector<double> values(const SafetensorsFile& file, std::string_view name) {
  const StoredTensor* stored = file.find(name);
  std::vector<double> result(static_cast<std::size_t>(stored->size));
  file.read(*stored, view(result, tensor::DType::kF64));
  return result;
}

// sample.safetensors was written by the reference implementation: golden/make_golden.py.
TEST(SafetensorsFile, ListsWhatTheReferenceImplementationWrote) {
  const SafetensorsFile file = SafetensorsFile::open(golden_file("sample.safetensors"));
  std::vector<std::string> listed;
  for (const StoredTensor& stored : file.tensors())
    listed.push_back(fmt::format("{} {} {} {}", stored.name, stored.type, describe_shape(stored.shape), stored.bytes));
  EXPECT_THAT(listed, ElementsAre("double F64 [2, 2] 32", "empty F32 [0, 4] 0", "encoder.weight F32 [2, 3] 24",
                                  "scalar F32 [] 4", "half F16 [3] 6"));
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}}));
}

TEST(SafetensorsFile, ReadsTheValuesThatTheReferenceImplementationWrote) {
  const SafetensorsFile file = SafetensorsFile::open(golden_file("sample.safetensors"));
  EXPECT_THAT(values(file, "double"), ElementsAre(0.1, -1.0, 1e300, 3.0));
  EXPECT_THAT(values(file, "encoder.weight"), ElementsAre(0, 1.0F / 7, 2.0F / 7, 3.0F / 7, 4.0F / 7, 5.0F / 7));
  EXPECT_THAT(values(file, "scalar"), ElementsAre(2.5));
  EXPECT_THAT(values(file, "empty"), ElementsAre());
  EXPECT_THAT(values(file, "half"), ElementsAre(0.0999755859375, -2.5, 65504));
}

TEST(SafetensorsFile, ListsTypesThatItCannotConvert) {
  const SafetensorsFile file = SafetensorsFile::open(golden_file("other_types.safetensors"));
  EXPECT_EQ(file.find("long")->type, "I64");
  EXPECT_EQ(file.find("flags")->type, "BOOL");
  EXPECT_THAT(file.read("bytes"), ElementsAre(std::byte{0}, std::byte{255}));
  float out = 0;
  try {
    file.read(*file.find("long"), {&out, 1, 1, 1, tensor::DType::kF32, tensor::Device::kCpu});
    FAIL() << "an I64 tensor was read as F32";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("'long' is of type I64"));
  }
}

TEST(SafetensorsFile, ReadsPartsOfATensor) {
  const SafetensorsFile file = SafetensorsFile::open(golden_file("sample.safetensors"));
  std::vector<float> part(2);
  file.read(*file.find("encoder.weight"), 3, view(part, tensor::DType::kF32));
  EXPECT_THAT(part, ElementsAre(3.0F / 7, 4.0F / 7));
  EXPECT_THROW(file.read(*file.find("encoder.weight"), 5, view(part, tensor::DType::kF32)), core::Error);
  EXPECT_THROW(file.read(*file.find("encoder.weight"), -1, view(part, tensor::DType::kF32)), core::Error);
}

TEST(SafetensorsFile, ACopyKeepsTheMappingAlive) {
  std::optional<SafetensorsFile> first = SafetensorsFile::open(golden_file("sample.safetensors"));
  const std::shared_ptr<const void> owner = first->owner();
  const std::byte* data = first->read("scalar").data();
  first.reset();
  float value = 0;
  std::memcpy(&value, data, sizeof value);
  EXPECT_EQ(value, 2.5F);
}

TEST(SafetensorsFile, NamesTheTensorThatIsNotThere) {
  const SafetensorsFile file = SafetensorsFile::open(golden_file("sample.safetensors"));
  EXPECT_EQ(file.find("decoder.weight"), nullptr);
  try {
    file.read("decoder.weight");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("sample.safetensors: there is no tensor 'decoder.weight'"));
  }
}

TEST(SafetensorsFile, RefusesWhatIsNotARegularFile) {
  const TemporaryFolder folder;
  for (const std::filesystem::path& path : {folder.path(), folder / "missing", std::filesystem::path("/dev/null")}) {
    try {
      SafetensorsFile::open(path);
      FAIL() << path;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kIo) << path;
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
    }
  }
}

TEST(DescribeShape, ShowsTheFirstDimensions) {
  EXPECT_EQ(describe_shape(std::vector<std::int64_t>{2, 3}), "[2, 3]");
  EXPECT_EQ(describe_shape(std::vector<std::int64_t>(2000, 7)), "[7, 7, 7, 7, 7, 7, 7, 7, ...]");
}

}  // namespace
}  // namespace dragoman::formats
