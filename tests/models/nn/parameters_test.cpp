#include "dragoman/nn/parameters.h"

#include "hidden_memory.h"
#include "nn_harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/ops/matmul.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::nn {
namespace {

using tensor::Device;
using tensor::DType;
using tensor::HostView;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::HiddenMemory;
using testing::values_of;

void fill(ParameterStore& store) {
  const Scope scope(store);
  (scope / "encoder").matrix("weight", 5, 7, Initialiser::xavier_uniform(7, 5));
  (scope / "encoder").vector("bias", 5, Initialiser::constant(0));
  scope.matrix("table", 3, 4, Initialiser::normal(0.5));
  scope.vector("gain", 4, Initialiser::constant(1));
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

TEST(Scope, ASharedOneGivesWhatIsThere) {
  ParameterStore store;
  const Scope scope(store);
  Parameter& weight = (scope / "layer").matrix("weight", 2, 3, Initialiser::constant(1));
  EXPECT_EQ(&(scope.shared() / "layer").matrix("weight", 2, 3, Initialiser::constant(1)), &weight);
  EXPECT_EQ(store.all().size(), 1U);
  EXPECT_THAT(error_of([&] { (scope / "layer").shared().matrix("weight", 3, 3, Initialiser::constant(1)); }),
              HasSubstr("'layer.weight' of shape [3, 3]"));
  EXPECT_THAT(error_of([&] { scope.shared().vector("bias", 3, Initialiser::constant(1)); }), HasSubstr("'bias'"));
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
  tensor::ComputeType type() const override { return tensor::ComputeType::kF32; }
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
  kernels.set(ops::kPackWeight,
              [](tensor::Context&, const tensor::StoredMatrix& matrix, tensor::ComputeType)
                  -> std::unique_ptr<tensor::PackedWeight> { return std::make_unique<FakePacked>(matrix.values); });
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
  EXPECT_TRUE(prepared_after([&] {
    const tensor::StoredMatrix bound(view);
    store.bind(std::span(&bound, 1), nullptr);
  }));
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

TEST(ParameterStore, StandInTheOrderOfTheirConstruction) {
  ParameterStore store;
  fill(store);
  const Scope layers = Scope(store) / "layers";
  (layers / 10).vector("bias", 2, Initialiser::constant(0));
  (layers / 2 / "inner").vector("bias", 2, Initialiser::constant(0));
  std::vector<std::string> names;
  for (const Parameter& parameter : store.all()) names.push_back(parameter.name);
  EXPECT_THAT(names,
              ElementsAre("encoder.weight", "encoder.bias", "table", "gain", "layers.10.bias", "layers.2.inner.bias"));
}

TEST(ParameterStore, ShapesThatHoldNothingOrTooMuchAreRefused) {
  ParameterStore store;
  const Scope scope(store);
  const Initialiser zero = Initialiser::constant(0);
  EXPECT_THAT(error_of([&] { scope.matrix("w", 0, 3, zero); }), HasSubstr("'w' has the empty shape [0, 3]"));
  EXPECT_THAT(error_of([&] { scope.vector("w", -1, zero); }), HasSubstr("'w' has the empty shape [1, -1]"));
  const std::int64_t much = std::int64_t{1} << 40;
  EXPECT_THAT(error_of([&] { scope.matrix("w", much, much, zero); }), HasSubstr("which no memory holds"));
  EXPECT_TRUE(store.all().empty());
}

/// Optimisers and checkpoints walk through the flat buffer, so it must hold each parameter once and zeros between them.
TEST(ParameterStore, OneBufferHoldsEveryParameterOnACacheLineOfItsOwn) {
  ParameterStore store;
  fill(store);
  store.allocate(tensor::host_memory(), DType::kF32, Device::kCpu);
  double next = 1;
  for (const Parameter& parameter : store.all()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parameter.value.data) % 64, 0U) << parameter.name;
    for (std::int64_t i = 0; i < parameter.rows; ++i)
      for (std::int64_t j = 0; j < parameter.cols; ++j) tensor::set_element(parameter.value, i, j, next++);
  }
  // 35, 5, 12 and 4 values in blocks of 16.
  std::vector<double> expected;
  next = 1;
  for (const int values : {35, 5, 12, 4}) {
    for (int i = 0; i < values; ++i) expected.push_back(next++);
    while (expected.size() % 16 != 0) expected.push_back(0);
  }
  EXPECT_EQ(values_of(store.memory(), store.flat_values()), expected);
}

TEST(ParameterStore, InitialValuesDependOnSeedAndPlaceAlone) {
  const auto second_values = [](std::int64_t width_of_first, DType dtype, std::uint64_t seed) {
    ParameterStore store;
    Scope(store).matrix("first", 3, width_of_first, Initialiser::normal(1));
    Scope(store).matrix("second", 4, 5, Initialiser::normal(1));
    store.allocate(tensor::host_memory(), dtype, Device::kReference);
    store.initialise(seed);
    return values_of(store.memory(), store.find("second")->value);
  };
  const std::vector<double> values = second_values(2, DType::kF64, 3);
  EXPECT_EQ(second_values(7, DType::kF64, 3), values) << "another first parameter";
  EXPECT_NE(second_values(2, DType::kF64, 4), values) << "another seed";
  std::vector<double> rounded;
  for (const double value : values) rounded.push_back(static_cast<double>(static_cast<float>(value)));
  EXPECT_EQ(second_values(2, DType::kF32, 3), rounded) << "another type";
}

TEST(ParameterStore, WhatNeedsMemoryOfItsOwnSaysSo) {
  ParameterStore store;
  fill(store);
  EXPECT_THAT(error_of([&] { store.initialise(1); }), HasSubstr("allocate() the parameters before initialising"));
  EXPECT_THAT(error_of([&] { store.attach_gradients(tensor::host_memory()); }),
              HasSubstr("allocate() the parameters before attaching"));
}

/// Two parameters in memory of the test.
class BoundParameters : public ::testing::Test {
 protected:
  BoundParameters() {
    Scope(store_).matrix("weight", 2, 3, Initialiser::constant(0)).is_weight = true;
    Scope(store_).vector("bias", 2, Initialiser::constant(0));
    views_ = {Tensor{weight_->data(), 2, 3, 3, DType::kF64, Device::kReference},
              Tensor{bias_.data(), 1, 2, 2, DType::kF64, Device::kReference}};
  }

  ParameterStore store_;
  std::shared_ptr<std::vector<double>> weight_ = std::make_shared<std::vector<double>>(6, 1.5);
  std::vector<double> bias_{7, 8};
  std::vector<tensor::StoredMatrix> views_;
};

TEST_F(BoundParameters, AreReadWhereTheyStand) {
  store_.bind(views_, weight_);
  (*weight_)[5] = 42;
  EXPECT_EQ(tensor::element(store_.find("weight")->value, 1, 2), 42);
  EXPECT_TRUE(store_.flat_values().empty()) << "there is no buffer that holds them all";
  EXPECT_THROW(store_.initialise(1), core::Error) << "they are not ours to write";
}

TEST_F(BoundParameters, KeepTheirOwnerUntilTheyStandElsewhere) {
  store_.bind(views_, weight_);
  const std::weak_ptr<std::vector<double>> owner = weight_;
  weight_.reset();
  EXPECT_FALSE(owner.expired());
  store_.allocate(tensor::host_memory(), DType::kF64, Device::kReference);
  EXPECT_TRUE(owner.expired());
}

TEST_F(BoundParameters, OfAnotherNumberOrShapeAreRefused) {
  EXPECT_THAT(error_of([&] { store_.bind(std::span(views_).first(1), nullptr); }),
              HasSubstr("1 tensors were given for 2 parameters"));
  std::swap(views_[0], views_[1]);
  EXPECT_THAT(error_of([&] { store_.bind(views_, nullptr); }), HasSubstr("weight"));
  std::swap(views_[0], views_[1]);
  views_[0].values.stride = 4;
  EXPECT_THAT(error_of([&] { store_.bind(views_, nullptr); }), HasSubstr("must be contiguous"));
}

TEST_F(BoundParameters, GiveBackTheMemoryOfWhatWasPackedAndNothingElse) {
  std::vector<const void*> released;
  store_.bind(views_, weight_, [&](const Tensor& values) { released.push_back(values.data); });
  tensor::KernelTable kernels(Device::kReference);
  kernels.set(ops::kPackWeight,
              [](tensor::Context&, const tensor::StoredMatrix& matrix, tensor::ComputeType)
                  -> std::unique_ptr<tensor::PackedWeight> { return std::make_unique<FakePacked>(matrix.values); });
  core::SequentialExecutor executor;
  tensor::Context context(kernels, tensor::host_memory(), DType::kF64, executor);
  store_.prepare(context, tensor::ComputeType::kF32);
  EXPECT_THAT(released, ElementsAre(static_cast<const void*>(weight_->data())));
  store_.prepare(context, tensor::ComputeType::kF32);
  EXPECT_EQ(released.size(), 1U) << "it is packed once";
}

TEST(ParameterStore, RemembersWhichGradientsAStepHasWritten) {
  ParameterStore store;
  fill(store);
  EXPECT_THAT(store.written_gradients(), ElementsAre(false, false, false, false)) << "there are none";
  store.allocate(tensor::host_memory(), DType::kF64, Device::kReference);
  store.attach_gradients(tensor::host_memory());
  store.begin_gradients();
  store.all()[2].gradient->written = true;
  const std::vector<bool> written = store.written_gradients();
  EXPECT_THAT(written, ElementsAre(false, false, true, false));
  store.begin_gradients();
  store.set_written_gradients(written);
  EXPECT_EQ(store.written_gradients(), written);
}

}  // namespace
}  // namespace dragoman::nn
