#include "packed_weight.h"

#include "kernels.h"

#include <algorithm>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/tensor/int8.h>

namespace dragoman::backend::cpu {
namespace {

using tensor::is_int8;

/// Rounds a number of bytes or floats up, so that the data after them is aligned.
std::size_t aligned(std::size_t count) {
  constexpr std::size_t kAlignment = 64;
  return (count + kAlignment - 1) / kAlignment * kAlignment;
}

/// Calls body(first output, number of outputs) for each panel.
template <class Body>
void for_each_panel(std::int64_t outputs, const Body& body) {
  const std::int64_t width = panel_width(outputs);
  for (std::int64_t begin = 0; begin < outputs; begin += width) body(begin, std::min(width, outputs - begin));
}

std::size_t storage_bytes(const tensor::StoredMatrix& weight, tensor::ComputeType type) {
  std::size_t bytes = 0;
  for_each_panel(weight.values.rows,
                 [&](std::int64_t, std::int64_t outputs) { bytes += panel_bytes(type, outputs, weight.values.cols); });
  return bytes;
}

/// Without fast bf16 products, values rounded to bf16 are multiplied as floats, which gives the same exact products.
/// This also applies to an odd number of inputs: AMX multiplies pairs, and so multiplies the first value of the next
/// row by 0, which is NaN if that value is not finite.
GemmElements gemm_elements(tensor::ComputeType type, std::int64_t inputs) {
  if (is_int8(type)) return GemmElements::kI8;
  return type == tensor::ComputeType::kBF16 && has_fast_bf16() && inputs % 2 == 0 ? GemmElements::kBF16
                                                                                  : GemmElements::kF32;
}

/// Rows of a weight as integers, with the scale of each row.
struct Numbers {
  std::vector<std::int8_t> values;
  std::vector<float> scales;
};

Numbers numbers_of(const tensor::StoredMatrix& weight, std::int64_t begin, std::int64_t outputs) {
  const auto cols = static_cast<std::size_t>(weight.values.cols);
  Numbers numbers{std::vector<std::int8_t>(static_cast<std::size_t>(outputs) * cols), {}};
  std::vector<float> buffer(cols);
  for (std::int64_t n = 0; n < outputs; ++n) {
    const std::span row = std::span(numbers.values).subspan(static_cast<std::size_t>(n) * cols, cols);
    if (weight.values.dtype == tensor::DType::kI8 && !weight.scales.empty()) {
      std::copy_n(weight.values.row<std::int8_t>(begin + n), cols, row.begin());
      numbers.scales.push_back(weight.scales.as<float>()[begin + n]);
    } else {
      const float* values = float_row(weight.values, weight.scales, begin + n, buffer.data());
      numbers.scales.push_back(quantize_weight_row(values, weight.values.cols, row.data()));
    }
  }
  return numbers;
}

Panel pack_int8(const tensor::StoredMatrix& weight, std::int64_t begin, std::int64_t outputs, tensor::ComputeType type,
                void* storage) {
  const std::int64_t inputs = weight.values.cols;
  Numbers numbers = numbers_of(weight, begin, outputs);
  Panel panel{type, PackedMatrix(GemmElements::kI8, numbers.values.data(), inputs, outputs, inputs, storage),
              std::move(numbers.scales)};
  for (auto row = numbers.values.begin(); row != numbers.values.end(); row += inputs)
    panel.zero_sums.push_back(zero_point(type) * std::accumulate(row, row + inputs, 0));
  return panel;
}

Panel pack_floats(const tensor::StoredMatrix& weight, std::int64_t begin, std::int64_t outputs,
                  tensor::ComputeType type, void* storage) {
  const std::int64_t inputs = weight.values.cols;
  const GemmElements elements = gemm_elements(type, inputs);
  if (type == tensor::ComputeType::kF32 && weight.values.dtype == tensor::DType::kF32)
    return {type,
            PackedMatrix(elements, weight.values.row<float>(begin), weight.values.stride, outputs, inputs, storage)};
  std::vector<float> rows;
  std::vector<float> buffer(static_cast<std::size_t>(inputs));
  for (std::int64_t n = begin; n < begin + outputs; ++n) {
    const float* row = float_row(weight.values, weight.scales, n, buffer.data());
    rows.insert(rows.end(), row, row + inputs);
  }
  const FloatRows all{rows.data(), inputs, outputs, inputs};
  if (elements == GemmElements::kF32) {
    if (type == tensor::ComputeType::kBF16) round_through_bf16(all, rows.data());
    return {type, PackedMatrix(elements, rows.data(), inputs, outputs, inputs, storage)};
  }
  std::vector<std::uint16_t> bits(rows.size());
  round_to_bf16(all, bits.data());
  return {type, PackedMatrix(elements, bits.data(), inputs, outputs, inputs, storage)};
}

struct RowChunk {
  std::int64_t rows;
  std::int64_t bucket;
};

/// Returns the next rows to multiply when `rest` are left. They are padded to a bucket if that wastes at most a third;
/// otherwise they fill a smaller bucket.
RowChunk next_chunk(std::span<const std::int64_t> buckets, std::int64_t rest) {
  if (rest >= buckets.back()) return {buckets.back(), buckets.back()};
  const auto up = std::ranges::lower_bound(buckets, rest);
  const bool can_fill = up != buckets.begin();
  if (!can_fill || *up - rest <= *up / 3) return {rest, *up};
  return {*std::prev(up), *std::prev(up)};
}

/// Returns x with `bucket` rows and without gaps: x itself if possible, otherwise a copy in `padded` with zero rows at
/// its end.
const float* pad_rows(const FloatRows& x, std::int64_t bucket, float* padded) {
  if (x.rows == bucket && (x.stride == x.cols || x.rows == 1)) return x.data;
  for (std::int64_t r = 0; r < x.rows; ++r) std::copy_n(x.data + r * x.stride, x.cols, padded + r * x.cols);
  std::fill_n(padded + x.rows * x.cols, (bucket - x.rows) * x.cols, 0.0F);
  return padded;
}

/// Returns x in the form that the matrix multiplies, with `bucket` rows: in `scratch`, or x itself. `scales` receives
/// the scales of int8 rows.
const void* multiplicand(const Panel& panel, const FloatRows& x, std::int64_t bucket, void* scratch, float* scales) {
  const auto rest = static_cast<std::size_t>((bucket - x.rows) * x.cols);
  const std::int64_t end = x.rows * x.cols;
  if (is_int8(panel.type)) {
    auto* bytes = static_cast<std::uint8_t*>(scratch);
    quantize(x, panel.type, bytes, scales);
    std::fill_n(bytes + end, rest, std::uint8_t{0});
    return bytes;
  }
  if (panel.type == tensor::ComputeType::kF32) return pad_rows(x, bucket, static_cast<float*>(scratch));
  if (panel.matrix.elements() == GemmElements::kBF16) {
    auto* bits = static_cast<std::uint16_t*>(scratch);
    round_to_bf16(x, bits);
    std::fill_n(bits + end, rest, std::uint16_t{0});
    return bits;
  }
  auto* floats = static_cast<float*>(scratch);
  round_through_bf16(x, floats);
  std::fill_n(floats + end, rest, 0.0F);
  return floats;
}

/// Returns the place of a chunk's product: in y if it has no gaps and fills the bucket, otherwise `padded`.
ProductRows place_of_product(const ProductRows& y, std::int64_t begin, std::int64_t cols, RowChunk chunk,
                             float* padded) {
  const bool direct = y.data != nullptr && chunk.rows == chunk.bucket && (y.stride == cols || chunk.rows == 1);
  return direct ? ProductRows{y.data + begin * y.stride, y.stride} : ProductRows{padded, cols};
}

}  // namespace

Panel Panel::pack(const tensor::StoredMatrix& weight, std::int64_t begin, std::int64_t outputs,
                  tensor::ComputeType type, void* storage) {
  return is_int8(type) ? pack_int8(weight, begin, outputs, type, storage)
                       : pack_floats(weight, begin, outputs, type, storage);
}

std::size_t panel_bytes(tensor::ComputeType type, std::int64_t outputs, std::int64_t inputs) {
  return aligned(PackedMatrix::bytes(gemm_elements(type, inputs), outputs, inputs));
}

PackedPanels::PackedPanels(tensor::DeviceMemory& memory, const tensor::StoredMatrix& weight, tensor::ComputeType type)
    : rows_(weight.values.rows), cols_(weight.values.cols), type_(type), storage_(memory, storage_bytes(weight, type)) {
  auto* storage = static_cast<char*>(storage_.data());
  for_each_panel(rows_, [&](std::int64_t begin, std::int64_t outputs) {
    panels_.push_back(Panel::pack(weight, begin, outputs, type, storage));
    storage += panel_bytes(type, outputs, cols_);
  });
}

const PackedPanels& panels_of(const tensor::PackedWeight& weight) {
  const auto* panels = dynamic_cast<const PackedPanels*>(&weight);
  core::require(panels != nullptr, core::ErrorCode::kInvalidArgument,
                "the packed weight [{}, {}] was made by another backend; pack it on the device that multiplies with it",
                weight.rows(), weight.cols());
  return *panels;
}

std::size_t multiply_scratch(const Panel& panel) {
  return multiply_scratch(panel, panel.matrix.row_buckets().back());
}

std::size_t multiply_scratch(const Panel& panel, std::int64_t rows) {
  const auto bucket = static_cast<std::size_t>(next_chunk(panel.matrix.row_buckets(), rows).bucket);
  const auto outputs = static_cast<std::size_t>(panel.matrix.outputs() + PackedMatrix::kMaxPartPadding);
  return aligned(bucket * static_cast<std::size_t>(panel.matrix.inputs())) + aligned(bucket * outputs) +
         aligned(bucket);
}

Dequantization dequantization_of(const Panel& panel, const float* row_scales) {
  return {row_scales, panel.scales.data(), panel.zero_sums.data()};
}

void multiply_rows(const Panel& panel, const FloatRows& x, const ProductRows& y, float* scratch,
                   core::FunctionRef<void(std::int64_t, std::int64_t, const ProductRows&)> finish) {
  const PackedMatrix& matrix = panel.matrix;
  for (std::int64_t begin = 0; begin < x.rows;) {
    const RowChunk chunk = next_chunk(matrix.row_buckets(), x.rows - begin);
    float* padded_y = scratch + aligned(static_cast<std::size_t>(chunk.bucket * matrix.inputs()));
    float* scales = padded_y + aligned(static_cast<std::size_t>(chunk.bucket * matrix.outputs()));
    const FloatRows x_rows{x.data + begin * x.stride, x.stride, chunk.rows, x.cols};
    ProductRows product = place_of_product(y, begin, matrix.outputs(), chunk, padded_y);
    matrix.multiply(multiplicand(panel, x_rows, chunk.bucket, scratch, scales), chunk.bucket, product.data);
    if (is_int8(panel.type)) product.dequantization = dequantization_of(panel, scales);
    finish(begin, chunk.rows, product);
    begin += chunk.rows;
  }
}

void multiply_numbers(const Panel& panel, std::uint8_t* x, const float* scales, std::int64_t rows, const ProductRows& y,
                      float* scratch, core::FunctionRef<void(std::int64_t, std::int64_t, const ProductRows&)> finish) {
  const PackedMatrix& matrix = panel.matrix;
  for (std::int64_t begin = 0; begin < rows;) {
    const RowChunk chunk = next_chunk(matrix.row_buckets(), rows - begin);
    std::uint8_t* numbers = x + begin * matrix.inputs();
    std::fill_n(numbers + chunk.rows * matrix.inputs(), (chunk.bucket - chunk.rows) * matrix.inputs(), std::uint8_t{0});
    ProductRows product = place_of_product(y, begin, matrix.outputs(), chunk, scratch);
    matrix.multiply(numbers, chunk.bucket, product.data);
    product.dequantization = dequantization_of(panel, scales + begin);
    finish(begin, chunk.rows, product);
    begin += chunk.rows;
  }
}

/// Measured: passing a part to another thread takes 0.2 to 0.5 us. In this time a core reads about a quarter of
/// kLeastBytes. Beyond kFreeRows rows, products take longer than reading the weight.
std::int64_t parts_worth_sharing(const core::Executor& executor, const Panel& panel, std::int64_t rows) {
  constexpr std::int64_t kLeastBytes = 65536;
  constexpr std::int64_t kFreeRows = 8;
  constexpr std::int64_t kPartsPerThread = 2;
  const PackedMatrix& matrix = panel.matrix;
  const std::int64_t bytes = matrix.outputs() * matrix.inputs() * (is_int8(panel.type) ? 1 : 4);
  const std::int64_t worth = bytes * std::max(kFreeRows, rows) / kFreeRows / kLeastBytes;
  if (worth < 2 || rows > kMaxSharedRows) return 1;
  const std::int64_t threads = executor.threads();
  return threads == 1 ? 1 : std::min(worth, kPartsPerThread * threads);
}

bool multiply_rows_shared(core::Executor& executor, const Panel& panel, const FloatRows& x, float* scratch,
                          core::FunctionRef<void(const Tile&, const ProductRows&)> finish) {
  const std::int64_t parts = parts_worth_sharing(executor, panel, x.rows);
  const PackedMatrix& matrix = panel.matrix;
  const RowChunk chunk = next_chunk(matrix.row_buckets(), x.rows);
  if (parts == 1 || chunk.rows < x.rows) return false;
  const std::int64_t width = matrix.part_width(chunk.bucket, (matrix.outputs() + parts - 1) / parts);
  if (width == 0) return false;
  float* products = scratch + aligned(static_cast<std::size_t>(chunk.bucket * matrix.inputs()));
  float* scales =
      products + aligned(static_cast<std::size_t>(chunk.bucket * (matrix.outputs() + PackedMatrix::kMaxPartPadding)));
  const void* multiplied = multiplicand(panel, x, chunk.bucket, scratch, scales);
  const Dequantization all = is_int8(panel.type) ? dequantization_of(panel, scales) : Dequantization{};
  core::for_each_range(executor, matrix.outputs(), width, [&](std::int64_t first, std::int64_t end) {
    float* product = products + chunk.bucket * first;
    const std::int64_t stride = matrix.multiply_part({first, end - first}, multiplied, chunk.bucket, product);
    finish({0, x.rows, first, end}, {product, stride, all.from_col(first)});
  });
  return true;
}

tensor::ComputeType inference_type(tensor::ComputeChoice choice) {
  switch (choice) {
    case tensor::ComputeChoice::kF32:
      return tensor::ComputeType::kF32;
    case tensor::ComputeChoice::kBF16:
      return tensor::ComputeType::kBF16;
    case tensor::ComputeChoice::kF16:
      core::fail(core::ErrorCode::kUnsupported,
                 "the cpu backend does not compute in fp16, which GPUs do; fp32, bf16 and int8 are what it has");
    case tensor::ComputeChoice::kI8:
      return sums_bytes_exactly() ? tensor::ComputeType::kI8 : tensor::ComputeType::kI8Narrow;
    case tensor::ComputeChoice::kAuto:
      switch (byte_instructions()) {
        case ByteInstructions::kVnni:
        case ByteInstructions::kTiles:
          return tensor::ComputeType::kI8;
        case ByteInstructions::kAvx2:
          return tensor::ComputeType::kI8Narrow;
        case ByteInstructions::kOther:
        case ByteInstructions::kPlain:  // nobody has measured which type is faster
          return tensor::ComputeType::kF32;
      }
      break;
  }
  core::fail(core::ErrorCode::kInternal, "unknown number type");
}

tensor::ComputeType training_type(tensor::ComputeChoice choice) {
  switch (choice) {
    case tensor::ComputeChoice::kF32:
      return tensor::ComputeType::kF32;
    case tensor::ComputeChoice::kBF16:
      return tensor::ComputeType::kBF16;
    case tensor::ComputeChoice::kAuto:
      return has_fast_bf16() ? tensor::ComputeType::kBF16 : tensor::ComputeType::kF32;
    case tensor::ComputeChoice::kF16:
    case tensor::ComputeChoice::kI8:
      core::fail(core::ErrorCode::kUnsupported, "the cpu backend does not train in {}; fp32 and bf16 are what it has",
                 tensor::name_of(choice));
  }
  core::fail(core::ErrorCode::kInternal, "unknown number type");
}

tensor::PreferredLoad preferred_load(tensor::ComputeType type) {
  // Measured with AMX, one thread and two, rows of 32, 48, 64 and 96: docs/project/performance.md.
  constexpr std::int64_t kRowsWithTiles = 48;
  return {.rows = is_int8(type) && byte_instructions() == ByteInstructions::kTiles ? kRowsWithTiles : 0};
}

std::unique_ptr<PackedWeight> kernel(Context& context, const tensor::StoredMatrix& weight, tensor::ComputeType type) {
  const Tensor& values = weight.values;
  core::require(values.rows > 0 && values.cols > 0, core::ErrorCode::kInvalidArgument,
                "cannot pack the empty weight {}", tensor::describe(values));
  core::require(!is_int8(type) || values.cols <= tensor::kMaxInt8Inputs, core::ErrorCode::kUnsupported,
                "a product of int8 has at most {} inputs, but the weight is {}", tensor::kMaxInt8Inputs,
                tensor::describe(values));
  core::require(type != tensor::ComputeType::kF16, core::ErrorCode::kUnsupported,
                "the cpu backend does not multiply in fp16");
  core::require(type != tensor::ComputeType::kI8 || sums_bytes_exactly(), core::ErrorCode::kUnsupported,
                "this processor adds products of bytes in 16 bits: pack for {}",
                tensor::name_of(tensor::ComputeType::kI8Narrow));
  return std::make_unique<PackedPanels>(context.memory(), weight, type);
}

}  // namespace dragoman::backend::cpu
