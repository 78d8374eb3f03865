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

  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  tensor::ComputeType type() const override { return type_; }

  /// c = x * weight^T, and what the epilogue says. Row-stable. Takes scratch of the context's.
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

/// A product of plain matrices in the type. Takes scratch of the context's.
void multiply_plain(tensor::Context& context, const device::Product& product, tensor::ComputeType type,
                    std::string_view op);

/// c = x * weight^T of a plain or a packed weight, where `packed` wins.
void multiply(tensor::Context& context, const device::Matrix& x, const tensor::Tensor& plain, tensor::ComputeType type,
              const tensor::PackedWeight* packed, const device::Matrix& c, const device::Epilogue& epilogue,
              std::string_view op);

}  // namespace dragoman::backend::cuda
