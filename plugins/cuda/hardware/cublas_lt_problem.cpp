#include "cublas_lt_problem.h"

#include <bit>

namespace dragoman::backend::cuda {
namespace {

cudaDataType_t input_type(GemmType type) {
  switch (type) {
    case GemmType::kBF16:
      return CUDA_R_16BF;
    case GemmType::kF16:
      return CUDA_R_16F;
    case GemmType::kI8:
      return CUDA_R_8I;
    default:
      return CUDA_R_32F;
  }
}

cublasLtEpilogue_t epilogue_of(const GemmShape& shape) {
  switch (shape.activation) {
    case GemmActivation::kRelu:
      return shape.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case GemmActivation::kGeluTanh:
      if (shape.keeps_input) return shape.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
      return shape.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
      return shape.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

cublasLtMatrixLayout_t layout(const CublasLtApi& api, cudaDataType_t type, std::int64_t rows, std::int64_t cols,
                              std::int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  require_success(
      api.create_layout(&made, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), stride),
      "describing a matrix");
  return made;
}

}  // namespace

CublasLtProblem::CublasLtProblem(const CublasLtApi& api, const GemmShape& shape)
    : api_(api),
      accumulate_(shape.accumulate),
      adds_bias_(shape.bias),
      keeps_input_(shape.keeps_input),
      one_(shape.type == GemmType::kI8 ? 1 : std::bit_cast<std::int32_t>(1.0F)) {
  const bool integers = shape.type == GemmType::kI8;
  const cudaDataType_t inputs = input_type(shape.type);
  const cudaDataType_t outputs = integers ? CUDA_R_32I : CUDA_R_32F;
  try {
    // fp32 is computed as fp32: CUBLAS_COMPUTE_32F_FAST_TF32 is another type.
    require_success(api.create_operation(&operation_, integers ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F, outputs),
                    "describing a product");
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
      require_success(api.set_of_operation(operation_, attribute, &value, sizeof value), "describing a product");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape));
    if (shape.keeps_input) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, shape.input_stride);
    // The heuristic reads the alignment of addresses, and nothing at them.
    const auto aligned = static_cast<std::uintptr_t>(kEpilogueAlignment);
    if (shape.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
    if (shape.keeps_input) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aligned);
    first_ = layout(api, inputs, shape.transpose_b ? shape.inner : shape.cols,
                    shape.transpose_b ? shape.cols : shape.inner, shape.b_stride);
    second_ = layout(api, inputs, shape.transpose_a ? shape.rows : shape.inner,
                     shape.transpose_a ? shape.inner : shape.rows, shape.a_stride);
    result_ = layout(api, outputs, shape.cols, shape.rows, shape.c_stride);
  } catch (...) {
    release();
    throw;
  }
}

CublasLtProblem::~CublasLtProblem() {
  release();
}

void CublasLtProblem::release() noexcept {
  if (operation_ != nullptr) api_.destroy_operation(operation_);
  for (const cublasLtMatrixLayout_t made : {first_, second_, result_})
    if (made != nullptr) api_.destroy_layout(made);
}

void CublasLtProblem::set_addresses(const float* bias, float* activation_input) {
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& address) {
    require_success(api_.set_of_operation(operation_, attribute, &address, sizeof address), "naming an address");
  };
  if (adds_bias_) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  if (keeps_input_) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, activation_input);
}

}  // namespace dragoman::backend::cuda
