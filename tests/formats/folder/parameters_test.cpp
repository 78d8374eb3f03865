#include "dragoman/formats/parameters.h"

#include "error_message.h"
#include "hidden_memory.h"
#include "test_data.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/tensor/context.h>

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
    return "no error";
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
  dragoman::testing::HiddenMemory memory;
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

TEST(Parameters, StayOnTheDeviceOfTheStore) {
  const TemporaryFolder folder;
  dragoman::testing::HiddenMemory memory;
  const auto original = random_store();
  save_parameters(folder / "w", *original);
  const auto store = make_store();
  store->allocate(memory, DType::kF64, Device::kReference);
  const void* const place = store->flat_values().data;
  EXPECT_THAT(testing::error_of([&] { load_parameters(folder / "w", *store); }), HasSubstr("refill_parameters()"));
  refill_parameters(folder / "w", *store);
  EXPECT_EQ(store->flat_values().data, place);
  EXPECT_EQ(&store->memory(), &memory);
  EXPECT_EQ(store->all().front().value.device, Device::kReference);
  save_parameters(folder / "again", *store);
  EXPECT_EQ(core::read_file(folder / "again"), core::read_file(folder / "w"));
  const auto empty = make_store();
  EXPECT_THAT(testing::error_of([&] { refill_parameters(folder / "w", *empty); }), HasSubstr("has no memory"));
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

/// A weight, a table and what is neither.
void add_quantizable(nn::ParameterStore& store) {
  const nn::Scope scope(store);
  scope.matrix("table", 5, 4, nn::Initialiser::normal(1)).is_table = true;
  scope.matrix("weight", 3, 8, nn::Initialiser::normal(1)).is_weight = true;
  scope.matrix("positions", 2, 4, nn::Initialiser::normal(1));
  scope.vector("bias", 3, nn::Initialiser::normal(1));
}

class Int8Parameters : public ::testing::Test {
 protected:
  Int8Parameters() {
    add_quantizable(original_);
    original_.allocate(tensor::host_memory(), DType::kF32, Device::kCpu);
    original_.initialise(3);
    save_rounded_parameters(path_, original_, DType::kI8);
  }

  /// The file with tensor `name` in another form; nothing: without it.
  void rewrite(const std::string& name, std::optional<TensorSpec> other) {
    const SafetensorsFile file = SafetensorsFile::open(path_);
    std::vector<TensorSpec> specs;
    for (const StoredTensor& stored : file.tensors())
      if (stored.name != name)
        specs.push_back({stored.name, *stored.dtype, stored.shape});
      else if (other)
        specs.push_back(*other);
    std::ranges::stable_sort(specs, std::greater(), [](const TensorSpec& spec) { return tensor::size_of(spec.dtype); });
    SafetensorsWriter writer(folder_ / "other", specs);
    for (const TensorSpec& spec : specs) {
      std::int64_t count = 1;
      for (const std::int64_t size : spec.shape) count *= size;
      std::vector<std::byte> zeros(static_cast<std::size_t>(count) * tensor::size_of(spec.dtype));
      writer.write({zeros.data(), 1, count, count, spec.dtype, Device::kCpu});
    }
    writer.finish();
  }
  std::string error_of_other() {
    nn::ParameterStore store;
    add_quantizable(store);
    return error_of(folder_ / "other", store);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "w";
  nn::ParameterStore original_;
};

TEST_F(Int8Parameters, WeightsAndTablesAreStoredAsNumbersWithScales) {
  const SafetensorsFile file = SafetensorsFile::open(path_);
  EXPECT_EQ(file.find("weight")->type, "I8");
  EXPECT_EQ(file.find("table")->type, "I8");
  EXPECT_EQ(file.find("positions")->type, "F32");
  EXPECT_EQ(file.find("bias")->type, "F32");
  EXPECT_EQ(file.find("weight_scale")->shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(file.tensors().size(), 6U);
  // By the definition, in double precision: the largest of a row is 127 steps.
  const nn::Parameter& weight = *original_.find("weight");
  const auto* numbers = reinterpret_cast<const std::int8_t*>(file.read("weight").data());
  const auto* scales = reinterpret_cast<const float*>(file.read("weight_scale").data());
  for (std::int64_t r = 0; r < 3; ++r) {
    double largest = 0;
    for (std::int64_t c = 0; c < 8; ++c) largest = std::max(largest, std::fabs(element(weight.value, r, c)));
    EXPECT_NEAR(scales[r], largest / 127, 1e-7);
    for (std::int64_t c = 0; c < 8; ++c)
      EXPECT_EQ(numbers[r * 8 + c], std::lround(element(weight.value, r, c) * 127 / largest));
  }
}

TEST_F(Int8Parameters, AreReadAsWhatTheyStandFor) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    nn::ParameterStore store;
    add_quantizable(store);
    load_parameters(path_, store, {.dtype = dtype});
    for (const char* name : {"table", "weight"})
      for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t c = 0; c < 4; ++c)
          EXPECT_NEAR(element(store.find(name)->value, r, c), element(original_.find(name)->value, r, c), 0.02);
    for (std::int64_t c = 0; c < 4; ++c)
      EXPECT_EQ(element(store.find("positions")->value, 1, c), element(original_.find("positions")->value, 1, c));
  }
}

TEST_F(Int8Parameters, ScalesAreFiniteAndNotNegative) {
  const auto error_with = [&](float scale, const LoadOptions& options) {
    std::string bytes = core::read_file(path_);
    const std::uint64_t offset = SafetensorsFile::open(path_).find("weight_scale")->offset + sizeof scale;  // of row 1
    std::memcpy(bytes.data() + offset, &scale, sizeof scale);
    core::write_file(folder_ / "other", bytes);
    nn::ParameterStore store;
    add_quantizable(store);
    return testing::error_of([&] { load_parameters(folder_ / "other", store, options); });
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const LoadOptions& options :
       {LoadOptions{}, LoadOptions{.memory = WeightMemory::kMapped, .stored_types = true}}) {
    for (const float scale : {-0.5F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()})
      EXPECT_THAT(error_with(scale, options), HasSubstr("the scale of row 1 in 'weight_scale' is")) << scale;
    EXPECT_EQ(error_with(0, options), "no error") << "of a row of zeros";
  }
}

TEST_F(Int8Parameters, StayInTheFileWhereTheDeviceTakesThem) {
  nn::ParameterStore mapped, owned;
  add_quantizable(mapped);
  add_quantizable(owned);
  load_parameters(path_, mapped, {.memory = WeightMemory::kMapped, .stored_types = true});
  load_parameters(path_, owned);
  EXPECT_EQ(mapped.find("weight")->value.dtype, DType::kI8);
  EXPECT_EQ(mapped.find("table")->value.dtype, DType::kI8);
  EXPECT_EQ(mapped.find("positions")->value.dtype, DType::kF32);
  for (const nn::Parameter& parameter : mapped.all())
    for (std::int64_t r = 0; r < parameter.rows; ++r)
      for (std::int64_t c = 0; c < parameter.cols; ++c)
        EXPECT_EQ(element(tensor::StoredMatrix(parameter.value, parameter.scales), r, c),
                  element(owned.find(parameter.name)->value, r, c));
  nn::ParameterStore plain;
  add_quantizable(plain);
  load_parameters(path_, plain, {.memory = WeightMemory::kMapped});
  EXPECT_EQ(plain.find("weight")->value.dtype, DType::kF32) << "for a device that takes floats alone";
}

TEST_F(Int8Parameters, SixteenBitsStayInTheFileToo) {
  save_rounded_parameters(path_, original_, DType::kBF16);
  nn::ParameterStore mapped;
  add_quantizable(mapped);
  load_parameters(path_, mapped, {.memory = WeightMemory::kMapped, .stored_types = true});
  EXPECT_EQ(mapped.find("weight")->value.dtype, DType::kBF16);
  EXPECT_EQ(SafetensorsFile::open(path_).find("bias")->type, "F32") << "what is no matrix is not rounded";
  // Of a file that holds all in few bits, the others are converted.
  save_parameters(path_, original_, DType::kBF16);
  nn::ParameterStore all;
  add_quantizable(all);
  load_parameters(path_, all, {.memory = WeightMemory::kMapped, .stored_types = true});
  EXPECT_EQ(all.find("weight")->value.dtype, DType::kBF16);
  EXPECT_EQ(all.find("bias")->value.dtype, DType::kF32) << "other ops take floats alone";
  EXPECT_NEAR(element(all.find("bias")->value, 0, 1), element(original_.find("bias")->value, 0, 1), 0.01);
}

TEST_F(Int8Parameters, NumbersOfAFileAreNotSavedAgain) {
  nn::ParameterStore mapped;
  add_quantizable(mapped);
  load_parameters(path_, mapped, {.memory = WeightMemory::kMapped, .stored_types = true});
  for (const auto& save : {std::function([&] { save_parameters(folder_ / "again", mapped); }),
                           std::function([&] { save_rounded_parameters(folder_ / "again", mapped, DType::kI8); })})
    EXPECT_THROW(save(), core::Error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "again"));
}

TEST_F(Int8Parameters, AParameterWithTheNameOfScalesIsRefused) {
  nn::ParameterStore store;
  nn::Scope(store).matrix("a", 2, 2, nn::Initialiser::normal(1)).is_weight = true;
  nn::Scope(store).vector("a_scale", 2, nn::Initialiser::normal(1));
  store.allocate(tensor::host_memory(), DType::kF32, Device::kCpu);
  EXPECT_THROW(save_rounded_parameters(folder_ / "b", store, DType::kI8), core::Error);
  save_rounded_parameters(folder_ / "b", store, DType::kBF16);
}

TEST_F(Int8Parameters, FaultsAreNamed) {
  rewrite("weight_scale", std::nullopt);
  EXPECT_THAT(error_of_other(), HasSubstr("that the configuration says but the file lacks: 'weight_scale'"));
  rewrite("weight_scale", TensorSpec{"weight_scale", DType::kF32, {4}});
  EXPECT_THAT(error_of_other(), HasSubstr("the scales 'weight_scale' of an I8 matrix [3, 8] are F32 [4]"));
  rewrite("weight_scale", TensorSpec{"weight_scale", DType::kF32, {3, 1}});
  EXPECT_THAT(error_of_other(), HasSubstr("must be one F32 for each row"));
  rewrite("bias", TensorSpec{"bias", DType::kI32, {3}});
  EXPECT_THAT(error_of_other(), HasSubstr("'bias' is of type I32; weights must be F32, F16, BF16, F64, or I8 with"));
  rewrite("weight_scale", TensorSpec{"weight_scale", DType::kI8, {3}});
  EXPECT_THAT(error_of_other(), HasSubstr("'weight_scale' of I8 is no matrix with scales"));
  rewrite("weight", TensorSpec{"weight", DType::kF32, {3, 8}});
  EXPECT_THAT(error_of_other(), HasSubstr("that the file has but the configuration does not say: 'weight_scale'"));
}

TEST(Parameters, AStoreWithoutValuesIsNotSaved) {
  const TemporaryFolder folder;
  EXPECT_THROW(save_parameters(folder / "w", *make_store()), core::Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "w"));
}

}  // namespace
}  // namespace dragoman::formats
