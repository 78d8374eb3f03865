#pragma once

#include "gemm/gemm.h"
#include "watch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

// A library of products in the host's memory, whose algorithms differ in the order of their sums, and products that it
// is compared with.
namespace dragoman::backend::cuda {

/// What the algorithms of ListedLibrary do.
enum Way : std::uint64_t {
  kForwards,              ///< the sum goes through its inputs in order
  kForwardsToo,           ///< the same bits by another algorithm
  kBackwards,             ///< other bits
  kForwardsToTheLastRow,  ///< which is summed backwards
  kByNumberOfRows         ///< forwards in matrices of more than 64 rows, backwards in others
};

struct Listed {
  std::vector<Way> candidates;
  std::map<Way, double> seconds;
  int most_rows_of_first = 1 << 30;  ///< the first candidate cannot do more
  bool recording = false;
  bool relu_loses_nan = false;  ///< its ReLU is fmax(x, 0)
  bool gelu_by_error_function = false;
  bool has_activations = true;
  int timings = 0;
  int runs = 0;
  std::vector<GemmActivation> activations{};  ///< of the runs, if they are not kNone
};

/// In the host's memory.
class ListedLibrary final : public GemmLibrary {
 public:
  explicit ListedLibrary(Listed& listed, std::string identity = "listed 1")
      : listed_(listed), identity_(std::move(identity)) {}

  std::string identity() const override { return identity_; }
  std::vector<GemmAlgorithm> candidates(const GemmShape& shape, bool) const override {
    std::vector<GemmAlgorithm> all;
    if (refuses(shape)) return all;
    for (const Way order : listed_.candidates) all.push_back({{order}});
    return all;
  }
  std::optional<std::size_t> workspace(const GemmShape& shape, const GemmAlgorithm& algorithm) const override {
    if (refuses(shape)) return std::nullopt;
    if (algorithm.words[0] == listed_.candidates.front() && shape.rows > listed_.most_rows_of_first)
      return std::nullopt;
    return 64;
  }
  void run(const GemmShape& shape, const GemmOperands& operands, const GemmAlgorithm& algorithm, void* workspace,
           std::size_t bytes) const override {
    ++listed_.runs;
    ASSERT_GE(bytes, 64U);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(workspace) % kWorkspaceAlignment, 0U);
    std::memset(workspace, 0xFF, 64);
    ASSERT_TRUE(!shape.bias || reinterpret_cast<std::uintptr_t>(operands.bias) % 16 == 0) << "the bias at an address";
    if (shape.keeps_input) {
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(operands.activation_input) % 16, 0U);
      ASSERT_EQ(shape.input_stride % 8, 0);
      ASSERT_GE(shape.input_stride, shape.cols);
    }
    if (shape.activation != GemmActivation::kNone) listed_.activations.push_back(shape.activation);
    const auto order = static_cast<Way>(algorithm.words[0]);
    const bool all_backwards = order == kBackwards || (order == kByNumberOfRows && shape.rows <= 64);
    for (std::int64_t i = 0; i < shape.rows; ++i) {
      const bool backwards = all_backwards || (order == kForwardsToTheLastRow && i + 1 == shape.rows);
      for (std::int64_t j = 0; j < shape.cols; ++j)
        if (shape.type == GemmType::kI8)
          finish(shape, static_cast<std::int32_t*>(operands.c), i, j,
                 sum<std::int32_t>(shape, operands, i, j, backwards));
        else
          finish(shape, static_cast<float*>(operands.c), i, j,
                 activated(shape, operands, i, j,
                           sum<float>(shape, operands, i, j, backwards) + (shape.bias ? operands.bias[j] : 0)));
    }
  }
  double time(const GemmShape&, const GemmOperands&, const GemmAlgorithm& algorithm, void*,
              std::size_t) const override {
    ++listed_.timings;
    return listed_.seconds.at(static_cast<Way>(algorithm.words[0]));
  }
  bool recording() const override { return listed_.recording; }

 private:
  /// Tensor cores multiply int8 only in multiples of 4 (NVIDIA, cuBLAS: cublasLtMatmul()).
  bool refuses(const GemmShape& shape) const {
    if (shape.activation != GemmActivation::kNone && !listed_.has_activations) return true;
    return shape.type == GemmType::kI8 && (shape.cols % 4 != 0 || shape.inner % 4 != 0);
  }
  /// As cublasLt.h specifies its epilogues; the input is kept with the bias.
  float activated(const GemmShape& shape, const GemmOperands& operands, std::int64_t i, std::int64_t j, float x) const {
    if (shape.keeps_input) operands.activation_input[i * shape.input_stride + j] = x;
    switch (shape.activation) {
      case GemmActivation::kRelu:
        return listed_.relu_loses_nan ? std::fmax(x, 0.0F) : std::isnan(x) ? x : std::fmax(x, 0.0F);
      case GemmActivation::kGeluTanh: {
        const double value = x;
        if (listed_.gelu_by_error_function) return static_cast<float>(value / 2 * std::erfc(-value / std::sqrt(2.0)));
        return static_cast<float>(value / 2 *
                                  (1 + std::tanh(std::sqrt(2 / M_PI) * (value + 0.044715 * std::pow(value, 3)))));
      }
      default:
        return x;
    }
  }
  template <class Number>
  static void finish(const GemmShape& shape, Number* c, std::int64_t i, std::int64_t j, Number value) {
    Number& place = c[i * shape.c_stride + j];
    place = shape.accumulate ? place + value : value;
  }
  template <class Number>
  static Number number(GemmType type, const void* data, std::int64_t place) {
    if (type == GemmType::kI8) return static_cast<Number>(static_cast<const std::int8_t*>(data)[place]);
    if (type == GemmType::kF32) return static_cast<Number>(static_cast<const float*>(data)[place]);
    const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(data)[place]) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<Number>(value);
  }
  template <class Number>
  static Number sum(const GemmShape& shape, const GemmOperands& operands, std::int64_t i, std::int64_t j,
                    bool backwards) {
    Number sum = 0;
    for (std::int64_t step = 0; step < shape.inner; ++step) {
      const std::int64_t k = backwards ? shape.inner - 1 - step : step;
      sum +=
          number<Number>(shape.type, operands.a, shape.transpose_a ? k * shape.a_stride + i : i * shape.a_stride + k) *
          number<Number>(shape.type, operands.b, shape.transpose_b ? j * shape.b_stride + k : k * shape.b_stride + j);
    }
    return sum;
  }

  Listed& listed_;
  std::string identity_;
};

inline std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

/// The host's memory, of which so many bytes may be allocated.
class BoundedMemory final : public tensor::DeviceMemory {
 public:
  void allow(std::size_t bytes) { most_ = bytes; }
  void* allocate(std::size_t bytes) override {
    core::require(taken_ + bytes <= most_, core::ErrorCode::kUnsupported, "no room");
    taken_ += bytes;
    return tensor::host_memory().allocate(bytes);
  }
  void deallocate(void* data, std::size_t bytes) noexcept override {
    taken_ -= bytes;
    tensor::host_memory().deallocate(data, bytes);
  }

 private:
  std::size_t taken_ = 0;
  std::size_t most_ = 0;
};

struct Host {
  testing::emulation::HostMemoryAllowed kernels_use_it;
  tensor::KernelTable kernels{tensor::Device::of("cuda")};
  core::SequentialExecutor executor;
  tensor::Context context{kernels, tensor::host_memory(), tensor::DType::kF32, executor};
};

/// A product of plain floats with what an op may want of it.
struct Task {
  std::int64_t rows, cols, inner;
  bool transpose_a = false, transpose_b = false, bias = false, accumulate = false, keep_input = false;
  ops::Activation activation = ops::Activation::kNone;
  std::int64_t bias_offset = 0;  ///< from an address that is a multiple of 16 bytes
};

inline device::Matrix matrix(std::vector<float>& values, std::int64_t rows, std::int64_t cols) {
  return {values.data(), rows, cols, cols};
}

struct Outcome {
  std::vector<float> c, before_activation;
};

inline Outcome computed(Gemm& gemm, const Task& task, RowBits bits = RowBits::kStable, std::int64_t first_row = 0) {
  Host host;
  auto a = random_floats((first_row + task.rows) * task.inner, 1);
  auto b = random_floats(task.cols * task.inner, 2);
  auto bias = random_floats(task.cols, 3);
  bias.insert(bias.begin(), static_cast<std::size_t>(task.bias_offset), 0.0F);
  Outcome out{random_floats(task.rows * task.cols, 4), random_floats(task.rows * task.cols, 5)};
  device::Matrix a_matrix =
      task.transpose_a ? matrix(a, task.inner, task.rows) : matrix(a, first_row + task.rows, task.inner);
  if (first_row > 0) a_matrix = {a_matrix.data + first_row * task.inner, task.rows, task.inner, task.inner};
  device::Epilogue epilogue{.activation = task.activation, .accumulate = task.accumulate};
  if (task.bias) epilogue.bias = {bias.data() + task.bias_offset, 1, task.cols, task.cols};
  if (task.keep_input) epilogue.pre_activation = matrix(out.before_activation, task.rows, task.cols);
  gemm.multiply(host.context,
                {.a = a_matrix,
                 .transpose_a = task.transpose_a,
                 .b = task.transpose_b ? matrix(b, task.cols, task.inner) : matrix(b, task.inner, task.cols),
                 .transpose_b = task.transpose_b,
                 .c = matrix(out.c, task.rows, task.cols),
                 .epilogue = epilogue},
                bits);
  return out;
}

/// The same in double precision.
inline Outcome expected(const Task& task) {
  const auto a = random_floats(task.rows * task.inner, 1), b = random_floats(task.cols * task.inner, 2);
  const auto bias = random_floats(task.cols, 3);
  Outcome out{random_floats(task.rows * task.cols, 4), random_floats(task.rows * task.cols, 5)};
  for (std::int64_t i = 0; i < task.rows; ++i)
    for (std::int64_t j = 0; j < task.cols; ++j) {
      double sum = task.bias ? bias[static_cast<std::size_t>(j)] : 0.0F;
      for (std::int64_t k = 0; k < task.inner; ++k)
        sum += static_cast<double>(
                   a[static_cast<std::size_t>(task.transpose_a ? k * task.rows + i : i * task.inner + k)]) *
               b[static_cast<std::size_t>(task.transpose_b ? j * task.inner + k : k * task.cols + j)];
      const auto place = static_cast<std::size_t>(i * task.cols + j);
      if (task.keep_input) out.before_activation[place] = static_cast<float>(sum);
      if (task.activation == ops::Activation::kRelu) sum = std::max(sum, 0.0);
      if (task.activation == ops::Activation::kGelu) sum *= 0.5 * std::erfc(-sum / std::sqrt(2.0));
      if (task.activation == ops::Activation::kGeluTanh)
        sum *= 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (sum + 0.044715 * sum * sum * sum)));
      out.c[place] = static_cast<float>(sum + (task.accumulate ? out.c[place] : 0.0F));
    }
  return out;
}

}  // namespace dragoman::backend::cuda
