#pragma once

#include "cublas_lt_api.h"
#include "gemm/gemm_library.h"

namespace dragoman::backend::cuda {

/// A product as cuBLASLt is told it. Its matrices lie column by column, so a row-major one is there its transpose, and
/// c = op(a) op(b) is computed as c^T = op(b)^T op(a)^T: the library's A is b, its B is a, its rows are columns of c.
/// Needs no device.
class CublasLtProblem {
 public:
  CublasLtProblem(const CublasLtApi& api, const GemmShape& shape);
  CublasLtProblem(const CublasLtProblem&) = delete;
  CublasLtProblem& operator=(const CublasLtProblem&) = delete;
  ~CublasLtProblem();

  /// Sets the addresses of the bias and of the kept activation input, as far as the shape has them. Until then both are
  /// placeholders of the least alignment.
  void set_addresses(const float* bias, float* activation_input);

  cublasLtMatmulDesc_t operation() const noexcept { return operation_; }
  cublasLtMatrixLayout_t first() const noexcept { return first_; }    ///< of b
  cublasLtMatrixLayout_t second() const noexcept { return second_; }  ///< of a
  cublasLtMatrixLayout_t result() const noexcept { return result_; }
  /// What sums are multiplied with, and what was in c before: of the type of the sums.
  const void* alpha() const noexcept { return &one_; }
  const void* beta() const noexcept { return accumulate_ ? &one_ : &zero_; }

 private:
  void release() noexcept;

  const CublasLtApi& api_;
  bool accumulate_;
  bool adds_bias_;
  bool keeps_input_;
  std::int32_t one_;  ///< or the bits of a float
  std::int32_t zero_ = 0;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr;
  cublasLtMatrixLayout_t second_ = nullptr;
  cublasLtMatrixLayout_t result_ = nullptr;
};

}  // namespace dragoman::backend::cuda
