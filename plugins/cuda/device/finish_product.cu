#include "activation.h"

// What becomes of sums that were computed elsewhere than in this backend's own products.
namespace dragoman::backend::cuda::device {
namespace {

/// The sums may stand where the result goes.
struct FinishProduct {
  Matrix sums;
  Matrix c;
  Epilogue epilogue;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    write_product(c, epilogue, i, j, at(sums, i, j));
  }
};

struct FinishInt8Product {
  View<std::int32_t> sums;
  const float* row_scales;
  const float* col_scales;
  Matrix c;
  Epilogue epilogue;
  /// As docs/numerics.md has it: the product of the scales first.
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    write_product(c, epilogue, i, j, static_cast<float>(at(sums, i, j)) * (row_scales[i] * col_scales[j]));
  }
};

}  // namespace

void finish_product(const Matrix& sums, const Matrix& c, const Epilogue& epilogue) {
  for_each_element(c.rows, c.cols, FinishProduct{sums, c, epilogue});
}
void finish_int8_product(const View<std::int32_t>& sums, const float* row_scales, const float* col_scales,
                         const Matrix& c, const Epilogue& epilogue) {
  for_each_element(c.rows, c.cols, FinishInt8Product{sums, row_scales, col_scales, c, epilogue});
}

}  // namespace dragoman::backend::cuda::device
