#include <cstddef>

#include <cublasLt.h>
#include <gtest/gtest.h>

// The plugin is compiled with one version of cuBLASLt's header and opens the library of another one, of CUDA 12 or 13.
// So the numbers and layouts that pass between them must be the same in both. These are from the headers of CUDA 12.4
// (cuBLAS 12.4.5.8); the test compares them with the headers that the plugin was compiled with.
namespace dragoman::backend::cuda {
namespace {

TEST(CublasLtHeader, HasTheNumbersOfCuda12) {
  EXPECT_EQ(CUBLAS_STATUS_SUCCESS, 0);
  EXPECT_EQ(CUBLAS_OP_N, 0);
  EXPECT_EQ(CUBLAS_OP_T, 1);
  EXPECT_EQ(CUDA_R_32F, 0);
  EXPECT_EQ(CUDA_R_16F, 2);
  EXPECT_EQ(CUDA_R_16BF, 14);
  EXPECT_EQ(CUDA_R_8I, 3);
  EXPECT_EQ(CUDA_R_32I, 10);
  EXPECT_EQ(CUBLAS_COMPUTE_32I, 72);
  EXPECT_EQ(CUBLAS_COMPUTE_32F, 68);
  EXPECT_EQ(CUBLAS_COMPUTE_32F_FAST_TF32, 77);
  EXPECT_EQ(CUBLASLT_REDUCTION_SCHEME_NONE, 0);
  EXPECT_EQ(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3);
  EXPECT_EQ(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5);
  EXPECT_EQ(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6);
  EXPECT_EQ(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7);
  EXPECT_EQ(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8);
  EXPECT_EQ(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1);
  EXPECT_EQ(CUBLASLT_MATMUL_DESC_TRANSA, 3);
  EXPECT_EQ(CUBLASLT_MATMUL_DESC_TRANSB, 4);
  EXPECT_EQ(CUBLASLT_MATMUL_DESC_EPILOGUE, 7);
  EXPECT_EQ(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8);
  EXPECT_EQ(CUBLASLT_EPILOGUE_BIAS, 4);
  EXPECT_EQ(CUBLASLT_MATRIX_LAYOUT_ROWS, 2);
  EXPECT_EQ(CUBLASLT_MATRIX_LAYOUT_COLS, 3);
  EXPECT_EQ(CUBLASLT_MATRIX_LAYOUT_LD, 4);
  EXPECT_EQ(CUBLASLT_MATRIX_LAYOUT_TYPE, 0);
  EXPECT_EQ(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 0);
  EXPECT_EQ(CUBLASLT_MATMUL_DESC_SCALE_TYPE, 1);
}

TEST(CublasLtHeader, HasTheLayoutsOfCuda12) {
  EXPECT_EQ(sizeof(cublasLtMatmulAlgo_t), 64U);
  EXPECT_EQ(sizeof(cublasLtMatmulHeuristicResult_t), 96U);
  EXPECT_EQ(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize), 64U);
  EXPECT_EQ(offsetof(cublasLtMatmulHeuristicResult_t, state), 72U);
  EXPECT_EQ(sizeof(cublasLtMatrixLayoutOpaque_t), 64U);
  EXPECT_EQ(sizeof(cublasLtMatmulDescOpaque_t), 256U);
}

}  // namespace
}  // namespace dragoman::backend::cuda
