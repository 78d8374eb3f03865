#include "kernels.h"
#include "matrix.h"
#include "round_to.h"
#include "weight_reader.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/tensor/int8.h>

namespace dragoman::backend::reference {
namespace {

using tensor::ComputeType;
using tensor::DType;

/// The values that are multiplied: a weight after rounding to the compute type.
class PackedMatrix final : public tensor::PackedWeight {
 public:
  PackedMatrix(const tensor::StoredMatrix& weight, ComputeType type)
      : rows_(weight.values.rows), cols_(weight.values.cols), type_(type) {
    values_.reserve(static_cast<std::size_t>(weight.values.size()));
    for (std::int64_t n = 0; n < rows_; ++n) {
      if (tensor::is_int8(type))
        add_int8_row(weight, n);
      else
        for (std::int64_t k = 0; k < cols_; ++k)
          values_.push_back(input_of_product(type, tensor::element(weight, n, k)));
    }
  }

  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  ComputeType type() const override { return type_; }
  const double* data() const { return values_.data(); }
  const float* scales() const { return scales_.empty() ? nullptr : scales_.data(); }

 private:
  void add_int8_row(const tensor::StoredMatrix& weight, std::int64_t n) {
    std::vector<std::int8_t> numbers(static_cast<std::size_t>(cols_));
    if (weight.values.dtype == DType::kI8) {
      std::copy_n(weight.values.row<std::int8_t>(n), cols_, numbers.begin());
      scales_.push_back(weight.scales.as<float>()[n]);
    } else {
      std::vector<float> row;
      for (std::int64_t k = 0; k < cols_; ++k) row.push_back(static_cast<float>(tensor::element(weight, n, k)));
      scales_.push_back(tensor::quantize_row(row, tensor::kWeightRange, numbers));
    }
    values_.insert(values_.end(), numbers.begin(), numbers.end());
  }

  std::int64_t rows_;
  std::int64_t cols_;
  ComputeType type_;
  std::vector<double> values_;
  std::vector<float> scales_;
};

}  // namespace

std::unique_ptr<PackedWeight> kernel(Context&, const tensor::StoredMatrix& weight, ComputeType type) {
  const DType dtype = weight.values.dtype;
  const bool numbers = dtype == DType::kI8 && !weight.scales.empty();
  core::require(numbers || (dtype != DType::kI8 && dtype != DType::kI32), core::ErrorCode::kUnsupported,
                "pack_weight: the reference backend packs real numbers, not {}", tensor::describe(weight.values));
  core::require(!tensor::is_int8(type) || weight.values.cols <= tensor::kMaxInt8Inputs, core::ErrorCode::kUnsupported,
                "a product of int8 has at most {} inputs, but the weight is {}", tensor::kMaxInt8Inputs,
                tensor::describe(weight.values));
  return std::make_unique<PackedMatrix>(weight, type);
}

WeightReader::WeightReader(const Tensor& plain, ComputeType type, std::string_view op)
    : type_(type), data_(plain.as<double>()), rows_(plain.rows), cols_(plain.cols), stride_(plain.stride) {
  static_cast<void>(Matrix(plain, op));
  core::require(!tensor::is_int8(type), core::ErrorCode::kUnsupported, "{}: a plain weight is not multiplied in {}", op,
                tensor::name_of(type));
  if (type == ComputeType::kF32) return;
  for (std::int64_t n = 0; n < rows_; ++n)
    for (std::int64_t k = 0; k < cols_; ++k) rounded_.push_back(input_of_product(type, plain.row<double>(n)[k]));
  data_ = rounded_.data();
  stride_ = cols_;
}

WeightReader::WeightReader(const tensor::PackedWeight* packed, std::string_view op) {
  const auto* matrix = dynamic_cast<const PackedMatrix*>(packed);
  core::require(matrix != nullptr, core::ErrorCode::kInvalidArgument,
                "{}: the weight was packed by another backend than the reference", op);
  type_ = matrix->type();
  data_ = matrix->data();
  scales_ = matrix->scales();
  rows_ = matrix->rows();
  cols_ = stride_ = matrix->cols();
}

void WeightReader::take_row(const double* x) {
  x_.assign(x, x + cols_);
  for (double& value : x_) value = input_of_product(type_, value);
  if (scales_ == nullptr) return;
  const std::vector<float> row(x_.begin(), x_.end());
  std::vector<std::int8_t> numbers(row.size());
  x_scale_ = tensor::quantize_row(row, tensor::activation_range(type_), numbers);
  x_.assign(numbers.begin(), numbers.end());
}

double WeightReader::product(std::int64_t n) const {
  double sum = 0;
  for (std::int64_t k = 0; k < cols_; ++k) sum += x_[static_cast<std::size_t>(k)] * data_[n * stride_ + k];
  if (scales_ == nullptr) return sum;
  // The sum is an exact integer up to here; the rest is in fp32.
  return static_cast<float>(sum) * (x_scale_ * scales_[n]);
}

}  // namespace dragoman::backend::reference
