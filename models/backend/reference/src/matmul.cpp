#include "kernels.h"
#include "matrix.h"

#include <dragoman/core/error.h>

namespace dragoman::backend::reference {
namespace {

class PackedMatrix final : public tensor::PackedWeight {
 public:
  explicit PackedMatrix(const Tensor& weight) : rows_(weight.rows), cols_(weight.cols) {
    values_.reserve(static_cast<std::size_t>(weight.size()));
    for (std::int64_t n = 0; n < rows_; ++n)
      for (std::int64_t k = 0; k < cols_; ++k) values_.push_back(tensor::element(weight, n, k));
  }
  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  const double* data() const { return values_.data(); }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  std::vector<double> values_;
};

}  // namespace

template <>
void kernel(Context&, const ops::MatMulArguments& arguments) {
  const Matrix a(arguments.a, "matmul");
  const Matrix b(arguments.b, "matmul");
  const Matrix c(arguments.c, "matmul");
  const std::int64_t depth = arguments.transpose_a ? a.rows() : a.cols();
  for (std::int64_t i = 0; i < c.rows(); ++i)
    for (std::int64_t j = 0; j < c.cols(); ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += (arguments.transpose_a ? a(k, i) : a(i, k)) * (arguments.transpose_b ? b(j, k) : b(k, j));
      c.put(i, j, sum, arguments.accumulate);
    }
}

std::unique_ptr<tensor::PackedWeight> kernel(Context&, const Tensor& weight, tensor::ComputeType) {
  const bool real = weight.dtype != tensor::DType::kI8 && weight.dtype != tensor::DType::kI32;
  core::require(real, core::ErrorCode::kUnsupported, "pack_weight: the reference backend packs real numbers, not {}",
                tensor::describe(weight));
  return std::make_unique<PackedMatrix>(weight);
}

WeightReader::WeightReader(const Tensor& plain, const tensor::PackedWeight* packed, std::string_view op) {
  if (packed == nullptr) {
    static_cast<void>(Matrix(plain, op));
    data_ = plain.as<double>();
    rows_ = plain.rows;
    stride_ = plain.stride;
    return;
  }
  const auto* matrix = dynamic_cast<const PackedMatrix*>(packed);
  core::require(matrix != nullptr, core::ErrorCode::kInvalidArgument,
                "{}: the weight was packed by another backend than the reference", op);
  data_ = matrix->data();
  rows_ = matrix->rows();
  stride_ = matrix->cols();
}

}  // namespace dragoman::backend::reference
