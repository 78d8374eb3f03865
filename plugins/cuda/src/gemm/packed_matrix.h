#pragma once

#include "launches.h"

#include <string_view>

#include <dragoman/ops/types.h>

namespace dragoman::backend::cuda {

/// A weight in its compute type, row by row, in the device's memory: what products multiply with.
class PackedMatrix final : public tensor::PackedWeight {
 public:
  /// Of floats.
  PackedMatrix(tensor::DeviceMemory& memory, const device::Matrix& weight, tensor::ComputeType type);

  /// Of zeros, for rows of a weight of the type to be gathered in.
  PackedMatrix(tensor::DeviceMemory& memory, std::int64_t rows, std::int64_t cols, tensor::ComputeType type);
  /// What there is to be copied between rows of `weight` and of this one.
  device::ShortlistRows gathered_from(const PackedMatrix& weight);

  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  tensor::ComputeType type() const override { return type_; }

  /// c = x * weight^T, of as many rows of the weight as c has columns, and what the epilogue says. Row-stable. Takes
  /// scratch of the context's.
  void multiply(tensor::Context& context, const device::Matrix& x, const device::Matrix& c,
                const device::Epilogue& epilogue) const;

 private:
  void quantize(tensor::DeviceMemory& memory, const device::Matrix& weight);

  std::int64_t rows_;
  std::int64_t cols_;
  tensor::ComputeType type_;
  tensor::Buffer values_;
  tensor::Buffer scales_;  ///< of int8
};

/// Error{kInvalidArgument} naming the op if another backend packed it.
const PackedMatrix& packed_of(const tensor::PackedWeight& weight, std::string_view op);

/// Room for a matrix in words of 16-bit numbers, in scratch of the context's.
device::WordMatrix scratch_words(tensor::Context& context, std::int64_t rows, std::int64_t cols);

/// A plain matrix as products take it: floats, or the words that they are rounded to.
struct Operand {
  device::Matrix floats = {};
  device::WordMatrix words = {};
};
/// Returns `x` as products in the type take it. The values that it rounds are in `rounded` or, if that is empty, in
/// scratch of the context's.
Operand operand(tensor::Context& context, const tensor::Tensor& x, tensor::ComputeType type, std::string_view op,
                const tensor::Tensor& rounded = {});
/// The words of ops::allocate_rounded(), which an earlier product has filled.
Operand rounded_operand(const tensor::Tensor& rounded);

struct PlainProduct {
  tensor::ComputeType type = tensor::ComputeType::kF32;
  Operand a = {};
  bool transpose_a = false;
  Operand b = {};
  bool transpose_b = false;
  device::Matrix c = {};
  device::Epilogue epilogue = {};
};
/// Takes scratch of the context's.
void multiply_plain(tensor::Context& context, const PlainProduct& product);

/// c = x * weight^T of a plain or a packed weight, where `packed` wins.
void multiply(tensor::Context& context, const tensor::Tensor& x, const tensor::Tensor& plain, tensor::ComputeType type,
              const tensor::PackedWeight* packed, const device::Matrix& c, const device::Epilogue& epilogue,
              std::string_view op);

}  // namespace dragoman::backend::cuda
