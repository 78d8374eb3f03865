#include "packed_matrix.h"

#include "gemm.h"
#include "kernels/kernels.h"
#include "kernels/views.h"

#include <optional>

#include <dragoman/ops/rounded_parameters.h>
#include <dragoman/tensor/int8.h>

namespace dragoman::backend::cuda {
namespace {

constexpr std::int64_t kHalvesOfWord = 2;
constexpr std::int64_t kInt8OfWord = 4;

/// The rows that a packed weight has room for: libraries multiply int8 only with multiples of kInt8Cols of them.
std::int64_t padded_rows(std::int64_t rows, ComputeType type) {
  return tensor::is_int8(type) ? (rows + kInt8Cols - 1) / kInt8Cols * kInt8Cols : rows;
}

std::size_t bytes_of(std::int64_t rows, std::int64_t cols, ComputeType type) {
  const std::int64_t of_row = type == ComputeType::kF32 ? cols
                              : tensor::is_int8(type)   ? device::words_of(cols, kInt8OfWord)
                                                        : device::words_of(cols, kHalvesOfWord);
  return static_cast<std::size_t>(rows * of_row) * sizeof(std::uint32_t);
}

device::WordMatrix words(void* data, std::int64_t rows, std::int64_t cols, std::int64_t of_word) {
  const std::int64_t of_row = device::words_of(cols, static_cast<int>(of_word));
  return {static_cast<std::uint32_t*>(data), rows, of_row, of_row};
}

/// In scratch memory.
device::WordMatrix narrowed(Context& context, ComputeType type, const device::Matrix& x) {
  const device::WordMatrix y = scratch_words(context, x.rows, x.cols);
  device::narrow_words(half_of(type), x, y);
  return y;
}

/// The words of a parameter that the step has rounded. Rows that do not fill their words lie in another way.
std::optional<device::WordMatrix> rounded_parameter(const Context& context, const Tensor& x, ComputeType type) {
  const auto* const parameters = context.extension<ops::RoundedParameters>();
  if (parameters == nullptr || x.cols % (kHalvesOfWord * device::kWordStrip) != 0) return std::nullopt;
  const Tensor rounded = parameters->find(x, type == ComputeType::kF16 ? tensor::DType::kF16 : tensor::DType::kBF16);
  if (rounded.empty()) return std::nullopt;
  return words(rounded.data, x.rows, x.cols, kHalvesOfWord);
}

}  // namespace

PackedMatrix::PackedMatrix(tensor::DeviceMemory& memory, const device::Matrix& weight, ComputeType type)
    : rows_(weight.rows),
      cols_(weight.cols),
      type_(type),
      values_(memory, bytes_of(padded_rows(rows_, type), cols_, type)) {
  if (type == ComputeType::kF32)
    device::scale(weight, 1, {static_cast<float*>(values_.data()), rows_, cols_, cols_}, false);
  else if (tensor::is_int8(type))
    quantize(memory, weight);
  else
    device::narrow_words(half_of(type), weight, words(values_.data(), rows_, cols_, kHalvesOfWord));
}

PackedMatrix::PackedMatrix(tensor::DeviceMemory& memory, std::int64_t rows, std::int64_t cols, ComputeType type)
    : rows_(rows), cols_(cols), type_(type), values_(memory, bytes_of(padded_rows(rows, type), cols, type)) {
  memory.clear(values_.data(), bytes_of(padded_rows(rows, type), cols, type));
  if (!tensor::is_int8(type)) return;
  const std::size_t scale_bytes = static_cast<std::size_t>(rows) * sizeof(float);
  scales_ = tensor::Buffer(memory, scale_bytes);
  memory.clear(scales_.data(), scale_bytes);
}

device::ShortlistRows PackedMatrix::gathered_from(const PackedMatrix& weight) {
  return {.words = static_cast<std::int64_t>(bytes_of(1, cols_, type_) / sizeof(std::uint32_t)),
          .from = static_cast<const std::uint32_t*>(weight.values_.data()),
          .to = static_cast<std::uint32_t*>(values_.data()),
          .from_scales = static_cast<const float*>(weight.scales_.data()),
          .to_scales = static_cast<float*>(scales_.data())};
}

void PackedMatrix::quantize(tensor::DeviceMemory& memory, const device::Matrix& weight) {
  core::require(cols_ <= tensor::kMaxInt8Inputs, core::ErrorCode::kUnsupported,
                "a product of {} inputs does not fit into int8's sums, which have {}", cols_, tensor::kMaxInt8Inputs);
  scales_ = tensor::Buffer(memory, static_cast<std::size_t>(rows_) * sizeof(float));
  const std::size_t bytes = bytes_of(rows_, cols_, type_);
  const std::size_t padding = bytes_of(padded_rows(rows_, type_), cols_, type_) - bytes;
  if (padding > 0) memory.clear(static_cast<char*>(values_.data()) + bytes, padding);
  device::quantize_words(weight, tensor::kWeightRange, words(values_.data(), rows_, cols_, kInt8OfWord),
                         static_cast<float*>(scales_.data()));
}

void PackedMatrix::multiply(Context& context, const device::Matrix& x, const device::Matrix& c,
                            const device::Epilogue& epilogue) const {
  const tensor::ScratchScope scope(context.arena());
  Gemm& gemm = gemm_of(context.device());
  switch (type_) {
    case ComputeType::kF32:
      return gemm.multiply(context,
                           {.a = x,
                            .b = {static_cast<float*>(values_.data()), rows_, cols_, cols_},
                            .transpose_b = true,
                            .c = c,
                            .epilogue = epilogue},
                           RowBits::kStable);
    case ComputeType::kBF16:
    case ComputeType::kF16:
      return gemm.multiply_halves(context,
                                  {.type = half_of(type_),
                                   .a = narrowed(context, type_, x),
                                   .b = words(values_.data(), rows_, cols_, kHalvesOfWord),
                                   .transpose_b = true,
                                   .c = c,
                                   .epilogue = epilogue},
                                  RowBits::kStable);
    case ComputeType::kI8:
    case ComputeType::kI8Narrow: {
      const device::WordMatrix numbers =
          words(context.arena().allocate(bytes_of(x.rows, cols_, type_)), x.rows, cols_, kInt8OfWord);
      auto* const scales =
          static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(x.rows) * sizeof(float)));
      device::quantize_words(x, tensor::activation_range(type_), numbers, scales);
      return gemm.multiply_int8(context,
                                {.a = numbers,
                                 .a_scales = scales,
                                 .weight = words(values_.data(), padded_rows(rows_, type_), cols_, kInt8OfWord),
                                 .weight_scales = static_cast<const float*>(scales_.data()),
                                 .c = c,
                                 .epilogue = epilogue});
    }
  }
}

device::WordMatrix scratch_words(Context& context, std::int64_t rows, std::int64_t cols) {
  return words(context.arena().allocate(bytes_of(rows, cols, ComputeType::kBF16)), rows, cols, kHalvesOfWord);
}

Operand operand(Context& context, const Tensor& x, ComputeType type, std::string_view op, const Tensor& rounded) {
  core::require(!tensor::is_int8(type), core::ErrorCode::kUnsupported, "{}: plain matrices are not multiplied in {}",
                op, tensor::name_of(type));
  const device::Matrix floats = matrix(x, op);
  if (type == ComputeType::kF32) return {.floats = floats};
  if (const auto known = rounded_parameter(context, x, type); known && rounded.empty()) return {.words = *known};
  const device::WordMatrix made =
      rounded.empty() ? scratch_words(context, x.rows, x.cols) : rounded_operand(rounded).words;
  device::narrow_words(half_of(type), floats, made);
  return {.words = made};
}

Operand rounded_operand(const Tensor& rounded) {
  return {.words = words(rounded.data, rounded.rows, rounded.cols, kHalvesOfWord)};
}

void multiply_plain(Context& context, const PlainProduct& product) {
  const auto& [type, a, transpose_a, b, transpose_b, c, epilogue] = product;
  Gemm& gemm = gemm_of(context.device());
  // Of a training, not of a tape: what is computed again in the backward pass must have the bits of the forward pass.
  const RowBits bits = autograd::is_training(context) ? RowBits::kOfShape : RowBits::kStable;
  if (type == ComputeType::kF32)
    return gemm.multiply(context, {a.floats, transpose_a, b.floats, transpose_b, c, epilogue}, bits);
  gemm.multiply_halves(context, {half_of(type), a.words, transpose_a, b.words, transpose_b, c, epilogue}, bits);
}

void multiply(Context& context, const Tensor& x, const Tensor& plain, ComputeType type, const PackedWeight* packed,
              const device::Matrix& c, const device::Epilogue& epilogue, std::string_view op) {
  if (packed != nullptr) return packed_of(*packed, op).multiply(context, matrix(x, op), c, epilogue);
  const tensor::ScratchScope scope(context.arena());
  multiply_plain(context, {.type = type,
                           .a = operand(context, x, type, op),
                           .b = operand(context, plain, type, op),
                           .transpose_b = true,
                           .c = c,
                           .epilogue = epilogue});
}

const PackedMatrix& packed_of(const PackedWeight& packed, std::string_view op) {
  const auto* weight = dynamic_cast<const PackedMatrix*>(&packed);
  core::require(weight != nullptr, core::ErrorCode::kInvalidArgument,
                "{}: the weight was packed by another backend than this", op);
  return *weight;
}

template <>
void kernel(Context&, const ops::RoundParametersArguments& arguments) {
  constexpr std::string_view kOp = "round_parameters";
  const device::Half type = half_of(arguments.rounded.dtype);
  device::narrow_values(type, matrix(arguments.values, kOp).data, arguments.values.size(),
                        view_of<std::uint16_t>(arguments.rounded, arguments.rounded.dtype, kOp).data);
}

std::unique_ptr<PackedWeight> kernel(Context& context, const tensor::StoredMatrix& weight, ComputeType type) {
  return std::make_unique<PackedMatrix>(context.memory(), matrix(weight.values, "pack_weight"), type);
}

}  // namespace dragoman::backend::cuda
