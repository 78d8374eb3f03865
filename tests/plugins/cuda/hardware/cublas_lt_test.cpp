#include "cublas_lt_problem.h"

#include <bit>
#include <random>

#include <gtest/gtest.h>

// What cuBLASLt is told of a product. Descriptors need no device, so the library itself holds them, and what it holds
// is read back and computed as its manual says.
namespace dragoman::backend::cuda {
namespace {

const CublasLtApi* api() {
  return load_cublas_lt().api.get();
}

template <class T>
T of_operation(const CublasLtProblem& problem, cublasLtMatmulDescAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  EXPECT_EQ(api()->get_of_operation(problem.operation(), attribute, &value, sizeof value, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof value);
  return value;
}
template <class T>
T of_layout(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute) {
  T value{};
  std::size_t written = 0;
  EXPECT_EQ(api()->get_of_layout(layout, attribute, &value, sizeof value, &written), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof value);
  return value;
}

/// A matrix as the library sees it: column by column, unless its order says otherwise.
struct Seen {
  explicit Seen(cublasLtMatrixLayout_t layout)
      : type(static_cast<cudaDataType_t>(of_layout<std::uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE))),
        rows(static_cast<std::int64_t>(of_layout<std::uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS))),
        cols(static_cast<std::int64_t>(of_layout<std::uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS))),
        leading(of_layout<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD)) {
    EXPECT_EQ(of_layout<std::int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER), CUBLASLT_ORDER_COL);
    EXPECT_GE(leading, rows);
  }
  std::size_t place(std::int64_t row, std::int64_t col) const { return static_cast<std::size_t>(col * leading + row); }

  cudaDataType_t type;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t leading;
};

/// D = alpha op(A) op(B) + beta C + bias, as the manual of cublasLtMatmul() and of its epilogues has it: the bias is
/// for the rows of D.
void compute_as_told(const CublasLtProblem& problem, const std::vector<float>& first, const std::vector<float>& second,
                     const std::vector<float>& bias, std::vector<float>& result) {
  const Seen a(problem.first()), b(problem.second()), d(problem.result());
  const bool turn_a = of_operation<std::int32_t>(problem, CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T;
  const bool turn_b = of_operation<std::int32_t>(problem, CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T;
  const auto epilogue = of_operation<std::uint32_t>(problem, CUBLASLT_MATMUL_DESC_EPILOGUE);
  const float beta = *static_cast<const float*>(problem.beta());
  EXPECT_EQ(*static_cast<const float*>(problem.alpha()), 1.0F);
  const std::int64_t inner = turn_a ? a.rows : a.cols;
  ASSERT_EQ(turn_a ? a.cols : a.rows, d.rows);
  ASSERT_EQ(turn_b ? b.rows : b.cols, d.cols);
  ASSERT_EQ(turn_b ? b.cols : b.rows, inner);
  for (std::int64_t i = 0; i < d.rows; ++i)
    for (std::int64_t j = 0; j < d.cols; ++j) {
      float sum = beta * result[d.place(i, j)];
      for (std::int64_t k = 0; k < inner; ++k)
        sum += first[turn_a ? a.place(k, i) : a.place(i, k)] * second[turn_b ? b.place(j, k) : b.place(k, j)];
      if (epilogue == CUBLASLT_EPILOGUE_BIAS) sum += bias[static_cast<std::size_t>(i)];
      result[d.place(i, j)] = sum;
    }
}

class Told : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (api() == nullptr) GTEST_SKIP() << load_cublas_lt().found;
  }
};
INSTANTIATE_TEST_SUITE_P(Layouts, Told, ::testing::Range(0, 48));

/// Of row-major matrices of either type with rows longer than they need to be; small whole numbers, so sums are exact.
TEST_P(Told, IsTheProductOfRowMajorMatrices) {
  const std::array types{std::pair(GemmType::kF32, CUDA_R_32F), std::pair(GemmType::kBF16, CUDA_R_16BF),
                         std::pair(GemmType::kF16, CUDA_R_16F)};
  const auto [type, inputs] = types.at(static_cast<std::size_t>(GetParam() / 16));
  const bool transpose_a = (GetParam() & 1) != 0, transpose_b = (GetParam() & 2) != 0;
  const bool accumulate = (GetParam() & 4) != 0, bias = (GetParam() & 8) != 0;
  constexpr std::int64_t kRows = 3, kCols = 5, kInner = 7;
  const GemmShape shape{.type = type,
                        .transpose_a = transpose_a,
                        .transpose_b = transpose_b,
                        .accumulate = accumulate,
                        .bias = bias,
                        .rows = kRows,
                        .cols = kCols,
                        .inner = kInner,
                        .a_stride = 9,
                        .b_stride = 11,
                        .c_stride = 8};
  std::mt19937 random(5);
  const auto numbers = [&](std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random() % 9) - 4;
    return values;
  };
  const auto a = numbers(9 * 7), b = numbers(11 * 7), biases = numbers(kCols);
  auto c = numbers(8 * kRows);
  std::vector<float> wanted = c;
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kCols; ++j) {
      float sum =
          (accumulate ? c[static_cast<std::size_t>(i * 8 + j)] : 0) + (bias ? biases[static_cast<std::size_t>(j)] : 0);
      for (std::int64_t k = 0; k < kInner; ++k)
        sum += a[static_cast<std::size_t>(transpose_a ? k * 9 + i : i * 9 + k)] *
               b[static_cast<std::size_t>(transpose_b ? j * 11 + k : k * 11 + j)];
      wanted[static_cast<std::size_t>(i * 8 + j)] = sum;
    }
  CublasLtProblem problem(*api(), shape);
  EXPECT_EQ(Seen(problem.first()).type, inputs);
  EXPECT_EQ(Seen(problem.second()).type, inputs);
  problem.set_addresses(biases.data(), nullptr);
  if (bias) {
    EXPECT_EQ(of_operation<const void*>(problem, CUBLASLT_MATMUL_DESC_BIAS_POINTER), biases.data());
  }
  compute_as_told(problem, b, a, biases, c);
  EXPECT_EQ(c, wanted);
}

/// Before the addresses are known, the heuristic reads the alignment of placeholders.
TEST(CublasLtEpilogues, AreThoseOfTheShape) {
  if (api() == nullptr) GTEST_SKIP() << load_cublas_lt().found;
  using enum GemmActivation;
  struct Epilogue {
    GemmActivation activation;
    bool bias;
    bool keeps_input;
    cublasLtEpilogue_t expected;
  };
  for (const auto& [activation, bias, keeps_input, expected] :
       {Epilogue{kNone, false, false, CUBLASLT_EPILOGUE_DEFAULT}, Epilogue{kNone, true, false, CUBLASLT_EPILOGUE_BIAS},
        Epilogue{kRelu, false, false, CUBLASLT_EPILOGUE_RELU},
        Epilogue{kRelu, true, false, CUBLASLT_EPILOGUE_RELU_BIAS},
        Epilogue{kGeluTanh, false, false, CUBLASLT_EPILOGUE_GELU},
        Epilogue{kGeluTanh, true, false, CUBLASLT_EPILOGUE_GELU_BIAS},
        Epilogue{kGeluTanh, false, true, CUBLASLT_EPILOGUE_GELU_AUX},
        Epilogue{kGeluTanh, true, true, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}}) {
    CublasLtProblem problem(*api(), {.type = GemmType::kBF16,
                                     .bias = bias,
                                     .activation = activation,
                                     .keeps_input = keeps_input,
                                     .rows = 4,
                                     .cols = 5,
                                     .inner = 32,
                                     .a_stride = 32,
                                     .b_stride = 8,
                                     .c_stride = 8,
                                     .input_stride = 16});
    EXPECT_EQ(of_operation<std::uint32_t>(problem, CUBLASLT_MATMUL_DESC_EPILOGUE), expected);
    const auto address = [&](cublasLtMatmulDescAttributes_t attribute) {
      return of_operation<std::uintptr_t>(problem, attribute);
    };
    EXPECT_EQ(address(CUBLASLT_MATMUL_DESC_BIAS_POINTER), bias ? kEpilogueAlignment : 0);
    EXPECT_EQ(address(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER), keeps_input ? kEpilogueAlignment : 0);
    EXPECT_EQ(of_operation<std::int64_t>(problem, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD), keeps_input ? 16 : 0);
    const std::array<float, 16> there{};
    std::array<float, 16> kept{};
    problem.set_addresses(there.data(), kept.data());
    EXPECT_EQ(address(CUBLASLT_MATMUL_DESC_BIAS_POINTER), bias ? reinterpret_cast<std::uintptr_t>(there.data()) : 0);
    EXPECT_EQ(address(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER),
              keeps_input ? reinterpret_cast<std::uintptr_t>(kept.data()) : 0);
  }
}

TEST(CublasLtTypes, AreThoseOfTheProduct) {
  if (api() == nullptr) GTEST_SKIP() << load_cublas_lt().found;
  struct Types {
    GemmType type;
    cudaDataType_t inputs;
    cudaDataType_t outputs;
    cublasComputeType_t sums;
  };
  for (const auto& [type, inputs, outputs, sums] : {Types{GemmType::kF32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
                                                    {GemmType::kBF16, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
                                                    {GemmType::kF16, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
                                                    {GemmType::kI8, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I}}) {
    const CublasLtProblem problem(
        *api(), {.type = type, .rows = 4, .cols = 4, .inner = 32, .a_stride = 32, .b_stride = 4, .c_stride = 4});
    EXPECT_EQ(Seen(problem.first()).type, inputs);
    EXPECT_EQ(Seen(problem.second()).type, inputs);
    EXPECT_EQ(Seen(problem.result()).type, outputs);
    EXPECT_EQ(of_operation<std::int32_t>(problem, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), sums);
    EXPECT_EQ(of_operation<std::int32_t>(problem, CUBLASLT_MATMUL_DESC_SCALE_TYPE), outputs);
    const auto one = *static_cast<const std::int32_t*>(problem.alpha());
    EXPECT_EQ(one, type == GemmType::kI8 ? 1 : std::bit_cast<std::int32_t>(1.0F));
  }
}

}  // namespace
}  // namespace dragoman::backend::cuda
