#include "dragoman/formats/parameters.h"

#include "hidden_memory.h"
#include "test_data.h"

#include <cmath>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>

namespace dragoman::formats {
namespace {

using dragoman::testing::TemporaryFolder;
using tensor::Device;
using tensor::DType;
using tensor::element;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A store with a matrix, a vector and a second matrix; `rows` is the size of the first.
std::unique_ptr<nn::ParameterStore> make_store(std::int64_t rows = 5, int layers = 1) {
  auto store = std::make_unique<nn::ParameterStore>();
  const nn::Scope scope(*store, "encoder");
  scope.matrix("embedding", rows, 3, nn::Initialiser::normal(1));
  for (int i = 0; i < layers; ++i) {
    (scope / i).vector("bias", 7, nn::Initialiser::normal(1));
    (scope / i).matrix("weight", 3, 2, nn::Initialiser::normal(1));
  }
  return store;
}

std::unique_ptr<nn::ParameterStore> random_store(DType dtype = DType::kF32, Device device = Device::kCpu) {
  auto store = make_store();
  store->allocate(tensor::host_memory(), dtype, device);
  store->initialise(7);
  return store;
}

/// The largest |a - b| / |b| over all parameters.
double largest_difference(const nn::ParameterStore& a, const nn::ParameterStore& b) {
  double largest = 0;
  for (std::size_t p = 0; p < b.all().size(); ++p) {
    const nn::Parameter& expected = b.all()[p];
    for (std::int64_t i = 0; i < expected.rows; ++i)
      for (std::int64_t j = 0; j < expected.cols; ++j) {
        const double value = element(expected.value, i, j);
        largest = std::max(largest, std::fabs(element(a.all()[p].value, i, j) - value) / std::fabs(value));
      }
  }
  return largest;
}

std::string error_of(const std::filesystem::path& path, nn::ParameterStore& store,
                     const core::Json* configuration = nullptr) {
  try {
    load_parameters(path, store, {}, configuration);
    return "accepted";
  } catch (const core::Error& error) {
    return error.what();
  }
}

struct Precision {
  DType dtype;
  double unit;  ///< largest relative error of one rounding
};

class RoundTrip : public ::testing::TestWithParam<Precision> {};

INSTANTIATE_TEST_SUITE_P(All, RoundTrip,
                         ::testing::Values(Precision{DType::kF64, 0}, Precision{DType::kF32, 0},
                                           Precision{DType::kF16, 0x1p-11}, Precision{DType::kBF16, 0x1p-8}),
                         [](const auto& precision) { return std::string(tensor::name_of(precision.param.dtype)); });

TEST_P(RoundTrip, KeepsEveryFloatToThePrecisionOfTheType) {
  const TemporaryFolder folder;
  const auto original = random_store();
  save_parameters(folder / "w", *original, GetParam().dtype);
  for (const WeightMemory memory : {WeightMemory::kOwned, WeightMemory::kMapped}) {
    const auto loaded = make_store();
    load_parameters(folder / "w", *loaded, {.memory = memory});
    const double difference = largest_difference(*loaded, *original);
    EXPECT_LE(difference, GetParam().unit);
    EXPECT_EQ(difference == 0, GetParam().unit == 0) << "rounding was expected to show";
  }
}

TEST_P(RoundTrip, LoadsIntoDoubles) {
  const TemporaryFolder folder;
  const auto original = random_store(DType::kF64, Device::kReference);
  save_parameters(folder / "w", *original, GetParam().dtype);
  const auto loaded = make_store();
  load_parameters(folder / "w", *loaded, {.dtype = DType::kF64, .device = Device::kReference});
  EXPECT_EQ(loaded->all().front().value.device, Device::kReference);
  EXPECT_LE(largest_difference(*loaded, *original), GetParam().dtype == DType::kF32 ? 0x1p-24 : GetParam().unit);
}

TEST(Parameters, PassThroughHostMemoryWhereTheHostCannotReadTheDevices) {
  const TemporaryFolder folder;
  testing::HiddenMemory memory;
  const auto original = random_store();
  save_parameters(folder / "w", *original);
  for (const WeightMemory kind : {WeightMemory::kOwned, WeightMemory::kMapped}) {
    const auto loaded = make_store();
    load_parameters(folder / "w", *loaded, {.device_memory = &memory, .memory = kind});
    EXPECT_EQ(&loaded->memory(), &memory) << "a file's pages are no device's";
    save_parameters(folder / "again", *loaded);
    EXPECT_EQ(core::read_file(folder / "again"), core::read_file(folder / "w"));
  }
}

TEST(Parameters, AreStoredByNameWithTheirRank) {
  const TemporaryFolder folder;
  save_parameters(folder / "w", *random_store(), DType::kF32, {{"format_version", "1"}});
  const SafetensorsFile file = SafetensorsFile::open(folder / "w");
  EXPECT_EQ(file.find("encoder.embedding")->shape, (std::vector<std::int64_t>{5, 3}));
  EXPECT_EQ(file.find("encoder.0.bias")->shape, (std::vector<std::int64_t>{7}));
  EXPECT_EQ(file.metadata().at("format_version"), "1");
}

TEST(Parameters, MappedOnesPointIntoTheFileAndKeepItOpen) {
  const TemporaryFolder folder;
  const auto original = random_store();
  save_parameters(folder / "w", *original);
  const auto mapped = make_store();
  load_parameters(folder / "w", *mapped, {.memory = WeightMemory::kMapped});
  EXPECT_TRUE(mapped->flat_values().empty());
  std::filesystem::remove(folder / "w");
  EXPECT_EQ(largest_difference(*mapped, *original), 0);
  // The file is one piece of memory: header, then the parameters one behind the other without the gaps of allocate().
  const auto& all = mapped->all();
  EXPECT_EQ(all[1].value.as<float>(), all[0].value.as<float>() + all[0].value.size());
}

TEST(Parameters, MappedOnesCannotBeTrainedByMistake) {
  const TemporaryFolder folder;
  save_parameters(folder / "w", *random_store());
  const auto mapped = make_store();
  load_parameters(folder / "w", *mapped, {.memory = WeightMemory::kMapped});
  EXPECT_THROW(mapped->initialise(1), core::Error);
  EXPECT_THROW(mapped->attach_gradients(tensor::host_memory()), core::Error);
  load_parameters(folder / "w", *mapped);
  EXPECT_NO_THROW(mapped->attach_gradients(tensor::host_memory()));
}

TEST(Parameters, AllocatedOnesAreFilledInPlace) {
  const TemporaryFolder folder;
  const auto original = random_store();
  save_parameters(folder / "w", *original);
  const auto store = make_store();
  store->allocate(tensor::host_memory(), DType::kF32, Device::kCpu);
  store->attach_gradients(tensor::host_memory());
  const void* before = store->flat_values().data;
  load_parameters(folder / "w", *store);
  EXPECT_EQ(store->flat_values().data, before);
  EXPECT_EQ(largest_difference(*store, *original), 0);
}

TEST(Parameters, AnotherShapeIsExplainedByTheConfiguration) {
  const TemporaryFolder folder;
  save_parameters(folder / "w", *random_store());
  const auto other = make_store(6);
  const core::Json configuration{{"sequences", {{"source_vocabulary", 6}, {"target_vocabulary", 9}}}};
  EXPECT_THAT(
      error_of(folder / "w", *other, &configuration),
      AllOf(HasSubstr("w: the weights do not fit the configuration: 1 tensor of another shape: 'encoder.embedding'"),
            HasSubstr("the configuration says [6, 3], the file has [5, 3]"),
            HasSubstr("see sequences.source_vocabulary = 6 in the configuration")));
}

TEST(Parameters, MissingAndSurplusTensorsAreListed) {
  const TemporaryFolder folder;
  save_parameters(folder / "w", *random_store());
  const auto deeper = make_store(5, 4);
  EXPECT_THAT(error_of(folder / "w", *deeper),
              HasSubstr("6 tensors that the configuration says but the file lacks: 'encoder.1.bias', "
                        "'encoder.1.weight', 'encoder.2.bias', 'encoder.2.weight' and 2 more"));
  const auto shallower = make_store(5, 0);
  EXPECT_THAT(error_of(folder / "w", *shallower),
              HasSubstr("2 tensors that the file has but the configuration does not say: "
                        "'encoder.0.bias', 'encoder.0.weight'"));
}

TEST(Parameters, AVectorIsNotAMatrixOfOneRow) {
  const TemporaryFolder folder;
  nn::ParameterStore vector;
  nn::Scope(vector).vector("a", 3, nn::Initialiser::constant(1));
  vector.allocate(tensor::host_memory(), DType::kF32, Device::kCpu);
  vector.initialise(1);
  save_parameters(folder / "w", vector);
  nn::ParameterStore matrix;
  nn::Scope(matrix).matrix("a", 1, 3, nn::Initialiser::constant(1));
  EXPECT_THAT(error_of(folder / "w", matrix), HasSubstr("the configuration says [1, 3], the file has [3]"));
}

TEST(Parameters, IntegerWeightsAreRefused) {
  const TemporaryFolder folder;
  std::int8_t value = 1;
  SafetensorsWriter writer(folder / "w", {{"a", DType::kI8, {1, 1}}});
  writer.write({&value, 1, 1, 1, DType::kI8, Device::kCpu});
  writer.finish();
  nn::ParameterStore store;
  nn::Scope(store).matrix("a", 1, 1, nn::Initialiser::constant(1));
  EXPECT_THAT(error_of(folder / "w", store), HasSubstr("'a' is of type I8; weights must be F32, F16, BF16 or F64"));
}

TEST(Parameters, AStoreWithoutValuesIsNotSaved) {
  const TemporaryFolder folder;
  EXPECT_THROW(save_parameters(folder / "w", *make_store()), core::Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "w"));
}

}  // namespace
}  // namespace dragoman::formats
