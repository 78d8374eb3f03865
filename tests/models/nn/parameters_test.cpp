#include "dragoman/nn/parameters.h"

#include "hidden_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/nn/constant.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::nn {
namespace {

using tensor::Device;
using tensor::DType;
using tensor::HostView;
using ::testing::HasSubstr;
using testing::HiddenMemory;

void fill(ParameterStore& store) {
  const Scope scope(store);
  (scope / "encoder").matrix("weight", 5, 7, Initialiser::xavier_uniform(7, 5));
  (scope / "encoder").vector("bias", 5, Initialiser::constant(0));
  scope.matrix("table", 3, 4, Initialiser::normal(0.5));
  scope.vector("gain", 4, Initialiser::constant(1));
}

/// All values of a tensor that may be anywhere.
std::vector<double> values_of(tensor::DeviceMemory& memory, const tensor::Tensor& tensor) {
  const HostView view = HostView::of(memory, tensor);
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.rows; ++i)
    for (std::int64_t j = 0; j < tensor.cols; ++j) values.push_back(tensor::element(view.tensor(), i, j));
  return values;
}

TEST(ParameterStore, NamesAreDottedPathsAndShapesAreKept) {
  ParameterStore store;
  fill(store);
  ASSERT_NE(store.find("encoder.weight"), nullptr);
  EXPECT_EQ(store.find("encoder.weight")->cols, 7);
  EXPECT_EQ(store.find("encoder.bias")->rank, 1);
  EXPECT_EQ(store.find("weight"), nullptr);
  EXPECT_EQ(store.count(), 35 + 5 + 12 + 4);
  EXPECT_THROW(Scope(store).vector("gain", 4, Initialiser::constant(1)), core::Error) << "a second one of the name";
}

TEST(ParameterStore, InitialValuesAreThoseOfTheirDistribution) {
  ParameterStore store;
  const Scope scope(store);
  const std::int64_t rows = 200, cols = 300;
  scope.matrix("uniform", rows, cols, Initialiser::xavier_uniform(cols, rows));
  scope.matrix("normal", rows, cols, Initialiser::normal(0.25));
  store.allocate(tensor::host_memory(), DType::kF64, Device::kReference);
  store.initialise(11);
  const auto moments = [&](const char* name) {
    double sum = 0, squares = 0, most = 0;
    for (const double value : values_of(store.memory(), store.find(name)->value)) {
      sum += value;
      squares += value * value;
      most = std::max(most, std::abs(value));
    }
    const auto count = static_cast<double>(rows * cols);
    return std::array{sum / count, squares / count, most};
  };
  // Glorot and Bengio 2010: uniform in +-sqrt(6 / (inputs + outputs)), whose variance is a third of the square.
  const double limit = std::sqrt(6.0 / (rows + cols));
  const auto [uniform_mean, uniform_square, uniform_most] = moments("uniform");
  EXPECT_NEAR(uniform_mean, 0, 0.001);
  EXPECT_NEAR(uniform_square, limit * limit / 3, 0.0001);
  EXPECT_LE(uniform_most, limit);
  EXPECT_GT(uniform_most, 0.99 * limit);
  const auto [normal_mean, normal_square, normal_most] = moments("normal");
  EXPECT_NEAR(normal_mean, 0, 0.005);
  EXPECT_NEAR(normal_square, 0.0625, 0.001);
  EXPECT_GT(normal_most, 0.8) << "60,000 draws reach beyond three deviations";
}

TEST(ParameterStore, LivesInMemoryThatTheHostCannotRead) {
  HiddenMemory memory;
  ParameterStore there;
  ParameterStore here;
  for (ParameterStore* store : {&there, &here}) fill(*store);
  there.allocate(memory, DType::kF32, Device::kCpu);
  here.allocate(tensor::host_memory(), DType::kF32, Device::kCpu);
  for (ParameterStore* store : {&there, &here}) store->initialise(7);
  EXPECT_EQ(&there.memory(), &memory);
  EXPECT_EQ(values_of(memory, there.flat_values()), values_of(tensor::host_memory(), here.flat_values()));

  there.attach_gradients(memory);
  there.begin_gradients();
  const HostView view = HostView::to_be_written(memory, there.flat_gradients());
  for (std::int64_t i = 0; i < view.tensor().cols; ++i) tensor::set_element(view.tensor(), 0, i, 3);
  view.store();
  const_cast<Parameter*>(there.find("gain"))->gradient->written = true;
  there.finish_gradients();
  EXPECT_EQ(values_of(memory, there.find("gain")->gradient->value), std::vector<double>(4, 3)) << "was written";
  EXPECT_EQ(values_of(memory, there.find("table")->gradient->value), std::vector<double>(12, 0)) << "was not";
}

/// Remembers the first value that it was made of.
class FakePacked final : public tensor::PackedWeight {
 public:
  explicit FakePacked(const tensor::Tensor& weight)
      : rows_(weight.rows), cols_(weight.cols), first_(tensor::element(weight, 0, 0)) {}
  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  double first() const { return first_; }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  double first_;
};

TEST(ParameterStore, PackedFormsDoNotOutliveTheValuesThatTheyWereMadeOf) {
  ParameterStore store;
  Parameter& weight = Scope(store).matrix("weight", 2, 3, Initialiser::normal(1));
  weight.is_weight = true;
  tensor::KernelTable kernels(Device::kReference);
  kernels.set(
      ops::kPackWeight,
      [](tensor::Context&, const tensor::Tensor& value, tensor::ComputeType) -> std::unique_ptr<tensor::PackedWeight> {
        return std::make_unique<FakePacked>(value);
      });
  core::SequentialExecutor executor;
  tensor::Context context(kernels, tensor::host_memory(), DType::kF64, executor);
  const auto is_fresh = [&] {
    const auto* packed = dynamic_cast<const FakePacked*>(weight.packed.get());
    return packed != nullptr && packed->first() == tensor::element(weight.value, 0, 0);
  };
  const auto prepared_after = [&](const auto& change) {
    const std::int64_t before = store.generation();
    change();
    EXPECT_EQ(weight.packed, nullptr);
    EXPECT_NE(store.generation(), before);
    store.prepare(context, tensor::ComputeType::kF32);
    return is_fresh();
  };
  EXPECT_TRUE(prepared_after([&] { store.allocate(tensor::host_memory(), DType::kF64, Device::kReference); }));
  EXPECT_TRUE(prepared_after([&] { store.initialise(1); }));
  EXPECT_TRUE(prepared_after([&] { store.initialise(2); }));
  EXPECT_TRUE(prepared_after([&] {
    tensor::set_element(weight.value, 0, 0, 42);
    store.values_changed();
  }));
  const std::vector<double> elsewhere{5, 6, 7, 8, 9, 10};
  tensor::Tensor view = weight.value;
  view.data = const_cast<double*>(elsewhere.data());
  view.stride = view.cols;
  EXPECT_TRUE(prepared_after([&] { store.bind(std::span(&view, 1), nullptr); }));
}

TEST(ParameterStore, MemoryWithGradientsIsNotLeft) {
  ParameterStore store;
  fill(store);
  store.allocate(tensor::host_memory(), DType::kF64, Device::kReference);
  store.attach_gradients(tensor::host_memory());
  EXPECT_THROW(store.allocate(tensor::host_memory(), DType::kF32, Device::kReference), core::Error);
  EXPECT_EQ(store.flat_values().dtype, DType::kF64);
}

TEST(ParameterStore, NonFiniteValuesAreFoundWhereverTheyAre) {
  HiddenMemory memory;
  ParameterStore store;
  fill(store);
  store.allocate(memory, DType::kF32, Device::kCpu);
  store.initialise(7);
  const HostView view = HostView::of(memory, store.find("table")->value);
  tensor::set_element(view.tensor(), 1, 2, std::numeric_limits<double>::infinity());
  view.store();
  const tensor::KernelTable kernels(Device::kCpu);
  core::SequentialExecutor executor;
  tensor::Context context(kernels, memory, DType::kF32, executor);
  try {
    store.prepare(context, tensor::ComputeType::kF32, {.refuse_non_finite_of = "model.safetensors"});
    FAIL() << "nothing was thrown";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("model.safetensors: the tensor 'table' holds inf at [1, 2]"));
  }
}

TEST(Constant, IsMadeInTheMemoryOfItsContext) {
  HiddenMemory memory;
  const tensor::KernelTable kernels(Device::kCpu);
  core::SequentialExecutor executor;
  const tensor::Context context(kernels, memory, DType::kF32, executor);
  int made = 0;
  {
    const Constant table(2, 2, [&] {
      ++made;
      return std::vector<double>{1, 2, 3, 4};
    });
    EXPECT_EQ(values_of(memory, table.on(context)), (std::vector<double>{1, 2, 3, 4}));
    table.on(context);
    EXPECT_EQ(made, 1);
    const tensor::Context elsewhere(kernels, Device::kReference, memory, DType::kF32, executor);
    EXPECT_THROW(table.on(elsewhere), core::Error);
  }
}

}  // namespace
}  // namespace dragoman::nn
