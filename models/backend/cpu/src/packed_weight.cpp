#include "packed_weight.h"

#include "kernels.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/ops/matmul.h>

namespace dragoman::backend::cpu {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Calls body(first output, number of outputs) for each panel.
template <class Body>
void for_each_panel(std::int64_t outputs, const Body& body) {
  const std::int64_t width = panel_width(outputs);
  for (std::int64_t begin = 0; begin < outputs; begin += width) body(begin, std::min(width, outputs - begin));
}

std::size_t storage_bytes(const tensor::Tensor& weight) {
  std::size_t bytes = 0;
  for_each_panel(weight.rows, [&](std::int64_t, std::int64_t outputs) {
    bytes += aligned(PackedMatrix::bytes(outputs, weight.cols));
  });
  return bytes;
}

/// Rows of a weight as floats; `buffer` keeps them if they are stored as something else.
const float* float_rows(const tensor::Tensor& weight, std::int64_t begin, std::int64_t count,
                        std::vector<float>& buffer) {
  if (weight.dtype == tensor::DType::kF32) return weight.row<float>(begin);
  core::require(weight.dtype == tensor::DType::kF16 || weight.dtype == tensor::DType::kBF16,
                core::ErrorCode::kUnsupported, "cannot pack the weight {} for fp32 arithmetic",
                tensor::describe(weight));
  const auto convert = weight.dtype == tensor::DType::kF16 ? tensor::f16_to_f32 : tensor::bf16_to_f32;
  buffer.clear();
  for (std::int64_t r = begin; r < begin + count; ++r) {
    const auto* bits = weight.row<std::uint16_t>(r);
    std::transform(bits, bits + weight.cols, std::back_inserter(buffer), convert);
  }
  return buffer.data();
}

struct RowChunk {
  std::int64_t rows;
  std::int64_t bucket;
};

/// The next rows to multiply when `rest` are left: padded if that wastes at most a third, else as many as fill a
/// bucket.
RowChunk next_chunk(std::span<const std::int64_t> buckets, std::int64_t rest) {
  if (rest >= buckets.back()) return {buckets.back(), buckets.back()};
  const auto up = std::ranges::lower_bound(buckets, rest);
  const bool can_fill = up != buckets.begin();
  if (!can_fill || *up - rest <= *up / 3) return {rest, *up};
  return {*std::prev(up), *std::prev(up)};
}

/// x with `bucket` rows and no gaps: itself if it is so already, else a copy in `padded` with zero rows at its end.
const float* pad_rows(const float* x, std::int64_t x_stride, std::int64_t cols, RowChunk chunk, float* padded) {
  if (chunk.rows == chunk.bucket && (x_stride == cols || chunk.rows == 1)) return x;
  for (std::int64_t r = 0; r < chunk.rows; ++r) std::copy_n(x + r * x_stride, cols, padded + r * cols);
  std::fill_n(padded + chunk.rows * cols, (chunk.bucket - chunk.rows) * cols, 0.0F);
  return padded;
}

/// Where a chunk's product goes: to its place in y if it has no gaps and fills the bucket, else to `padded`.
Rows place_of_product(const Rows& y, std::int64_t begin, std::int64_t cols, RowChunk chunk, float* padded) {
  const bool direct = chunk.rows == chunk.bucket && (y.stride == cols || chunk.rows == 1);
  return direct ? Rows{y.data + begin * y.stride, y.stride} : Rows{padded, cols};
}

}  // namespace

PackedPanels::PackedPanels(tensor::DeviceMemory& memory, const tensor::Tensor& weight)
    : rows_(weight.rows), cols_(weight.cols), storage_(memory, storage_bytes(weight)) {
  auto* storage = static_cast<char*>(storage_.data());
  std::vector<float> buffer;
  for_each_panel(rows_, [&](std::int64_t begin, std::int64_t outputs) {
    const float* panel = float_rows(weight, begin, outputs, buffer);
    const std::int64_t stride = weight.dtype == tensor::DType::kF32 ? weight.stride : weight.cols;
    panels_.emplace_back(panel, stride, outputs, cols_, storage);
    storage += aligned(PackedMatrix::bytes(outputs, cols_));
  });
}

const PackedPanels& panels_of(const tensor::PackedWeight& weight) {
  const auto* panels = dynamic_cast<const PackedPanels*>(&weight);
  core::require(panels != nullptr, core::ErrorCode::kInvalidArgument,
                "the packed weight [{}, {}] was made by another backend; pack it on the device that multiplies with it",
                weight.rows(), weight.cols());
  return *panels;
}

std::size_t multiply_scratch(const PackedMatrix& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.row_buckets().back());
  return aligned(rows * static_cast<std::size_t>(matrix.inputs())) +
         aligned(rows * static_cast<std::size_t>(matrix.outputs()));
}

void multiply_rows(const PackedMatrix& matrix, const float* x, std::int64_t x_stride, std::int64_t rows, const Rows& y,
                   float* scratch, core::FunctionRef<void(std::int64_t, std::int64_t, const Rows&)> finish) {
  for (std::int64_t begin = 0; begin < rows;) {
    const RowChunk chunk = next_chunk(matrix.row_buckets(), rows - begin);
    float* padded_y = scratch + aligned(static_cast<std::size_t>(chunk.bucket * matrix.inputs()));
    const float* padded_x = pad_rows(x + begin * x_stride, x_stride, matrix.inputs(), chunk, scratch);
    const Rows product = place_of_product(y, begin, matrix.outputs(), chunk, padded_y);
    matrix.multiply(padded_x, chunk.bucket, product.data);
    finish(begin, chunk.rows, product);
    begin += chunk.rows;
  }
}

std::unique_ptr<PackedWeight> kernel(Context& context, const Tensor& weight, tensor::ComputeType type) {
  core::require(type == tensor::ComputeType::kF32, core::ErrorCode::kUnsupported,
                "the cpu backend computes in fp32 only");
  core::require(weight.rows > 0 && weight.cols > 0, core::ErrorCode::kInvalidArgument,
                "cannot pack the empty weight {}", tensor::describe(weight));
  return std::make_unique<PackedPanels>(context.memory(), weight);
}

}  // namespace dragoman::backend::cpu
