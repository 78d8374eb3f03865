#include "gemm_probe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <dragoman/tensor/dtype.h>

// The check of a library's activation functions: a product of small whole and half numbers, whose sums are exact in any
// order. One row contains a NaN.
namespace dragoman::backend::cuda {
namespace {

constexpr std::int64_t kMinRows = 2;  // the first one has the NaN
constexpr std::int64_t kMaxRows = 16;
/// The inputs that differ from zero.
constexpr std::int64_t kMaxInputs = 64;
/// The largest difference from GELU's formula, relative to values above 1. The formula with the error function differs
/// by more, and so does an approximation of tanh by the hardware.
constexpr double kMaxDifference = 2e-5;

/// Returns a number in [-limit, limit] that depends on the place alone.
int draw(std::int64_t row, std::int64_t col, int limit) {
  const auto mixed = static_cast<std::uint64_t>(row * 7919 + col * 104729 + 12345) * 0x9E3779B97F4A7C15U;
  return static_cast<int>((mixed >> 40U) % static_cast<std::uint64_t>(2 * limit + 1)) - limit;
}
float a_of(std::int64_t row, std::int64_t k) {
  if (row == 0 && k == 0) return std::numeric_limits<float>::quiet_NaN();
  return k < kMaxInputs ? 0.5F * static_cast<float>(draw(row, k, 1)) : 0;
}
float b_of(std::int64_t k, std::int64_t col) {
  return static_cast<float>(draw(k + 1000, col, 1));
}
float bias_of(std::int64_t col) {
  return 0.125F * static_cast<float>(draw(-1, col, 16));
}

tensor::Buffer on_device(tensor::DeviceMemory& memory, const std::vector<float>& values, GemmType type) {
  tensor::Buffer buffer(memory, values.size() * size_of(type));
  if (type == GemmType::kF32) {
    memory.copy_in(buffer.data(), values.data(), buffer.size());
    return buffer;
  }
  std::vector<std::uint16_t> bits;
  for (const float value : values)
    bits.push_back(type == GemmType::kF16 ? tensor::f32_to_f16(value) : tensor::f32_to_bf16(value));
  memory.copy_in(buffer.data(), bits.data(), buffer.size());
  return buffer;
}

/// Returns op(x) of `rows` by `cols` in the layout in which a product reads it.
template <class Function>
std::vector<float> laid_out(std::int64_t rows, std::int64_t cols, bool transposed, std::int64_t stride,
                            const Function& value) {
  std::vector<float> values(static_cast<std::size_t>((transposed ? cols : rows) * stride));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      values[static_cast<std::size_t>(transposed ? j * stride + i : i * stride + j)] = value(i, j);
  return values;
}

double activated(GemmActivation activation, double z) {
  if (activation == GemmActivation::kRelu) return std::max(z, 0.0);
  const double argument = std::sqrt(2 / std::acos(-1.0)) * (z + 0.044715 * z * z * z);
  return 0.5 * z * (1 + std::tanh(argument));
}
bool is_near(GemmActivation activation, float actual, double expected) {
  const double allowed = activation == GemmActivation::kRelu ? 0 : kMaxDifference * std::max(1.0, std::abs(expected));
  return std::abs(static_cast<double>(actual) - expected) <= allowed;  // false for NaN
}

}  // namespace

bool computes_activation(const GemmLibrary& library, tensor::DeviceMemory& memory, GemmShape shape,
                         const GemmAlgorithm& algorithm) {
  shape.rows = std::clamp(shape.rows, kMinRows, kMaxRows);
  shape = packed(shape);
  const std::optional<std::size_t> workspace_bytes = library.workspace(shape, algorithm);
  if (!workspace_bytes) return false;
  const tensor::Buffer a =
      on_device(memory, laid_out(shape.rows, shape.inner, shape.transpose_a, shape.a_stride, a_of), shape.type);
  const tensor::Buffer b =
      on_device(memory, laid_out(shape.inner, shape.cols, shape.transpose_b, shape.b_stride, b_of), shape.type);
  std::vector<float> bias(static_cast<std::size_t>(shape.cols));
  for (std::int64_t j = 0; j < shape.cols; ++j) bias[static_cast<std::size_t>(j)] = shape.bias ? bias_of(j) : 0;
  const tensor::Buffer bias_there = on_device(memory, bias, GemmType::kF32);
  // What no activation function returns, so that a result which is not written shows.
  std::vector<float> c(static_cast<std::size_t>(shape.rows * shape.c_stride), -1000);
  std::vector<float> input(static_cast<std::size_t>(shape.rows * shape.input_stride), -1000);
  const tensor::Buffer c_there = on_device(memory, c, GemmType::kF32);
  const tensor::Buffer input_there = on_device(memory, input, GemmType::kF32);
  const tensor::Buffer workspace(memory, workspace_room(*workspace_bytes));
  library.run(shape,
              {a.data(), b.data(), c_there.data(), static_cast<const float*>(bias_there.data()),
               static_cast<float*>(input_there.data())},
              algorithm, workspace_in(workspace.data()), *workspace_bytes);
  memory.copy_out(c.data(), c_there.data(), c_there.size());
  if (shape.keeps_input) memory.copy_out(input.data(), input_there.data(), input_there.size());

  for (std::int64_t i = 0; i < shape.rows; ++i)
    for (std::int64_t j = 0; j < shape.cols; ++j) {
      const float actual = c[static_cast<std::size_t>(i * shape.c_stride + j)];
      const float kept = shape.keeps_input ? input[static_cast<std::size_t>(i * shape.input_stride + j)] : 0;
      if (i == 0) {
        if (!std::isnan(actual) || (shape.keeps_input && !std::isnan(kept))) return false;
        continue;
      }
      double z = static_cast<double>(bias[static_cast<std::size_t>(j)]);
      for (std::int64_t k = 0; k < std::min(shape.inner, kMaxInputs); ++k)
        z += static_cast<double>(a_of(i, k)) * static_cast<double>(b_of(k, j));
      if (!is_near(shape.activation, actual, activated(shape.activation, z))) return false;
      if (shape.keeps_input && static_cast<double>(kept) != z) return false;
    }
  return true;
}

}  // namespace dragoman::backend::cuda
