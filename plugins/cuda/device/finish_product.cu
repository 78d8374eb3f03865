#include "activation.h"

// Epilogues of sums that were computed outside this backend's own products.
namespace dragoman::backend::cuda::device {
namespace {

/// The sums may be in the memory of the result.
template <int kWidth>
struct FinishProduct {
  Matrix sums;
  Matrix c;
  Epilogue epilogue;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    write_products(c, epilogue, i, j, load_run<kWidth>(sums, i, j));
  }
};

template <int kWidth>
struct FinishInt8Product {
  View<std::int32_t> sums;
  const float* row_scales;
  Matrix col_scales;
  Matrix c;
  Epilogue epilogue;
  /// The product of the scales comes first, as docs/concepts/numerics.md specifies.
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    const auto own = simt::load_vector<kWidth>(&at(sums, i, j));
    const Run<kWidth> of_cols = load_run<kWidth>(col_scales, 0, j);
    const float of_row = row_scales[i];
    Run<kWidth> values;
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n)
      values.values[n] = static_cast<float>(own.values[n]) * (of_row * of_cols.values[n]);
    write_products(c, epilogue, i, j, values);
  }
};

}  // namespace

void finish_product(const Matrix& sums, const Matrix& c, const Epilogue& epilogue) {
  with_width<kQuad>(are_wide<kQuad>(sums, c, epilogue.bias, epilogue.pre_activation), [&]<int kWidth>(Width<kWidth>) {
    for_each_run<kWidth>(c.rows, c.cols, FinishProduct<kWidth>{sums, c, epilogue});
  });
}
void finish_int8_product(const View<std::int32_t>& sums, const float* row_scales, const float* col_scales,
                         const Matrix& c, const Epilogue& epilogue) {
  const Matrix scales{const_cast<float*>(col_scales), 1, c.cols,
                      c.cols};  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
  with_width<kQuad>(
      are_wide<kQuad>(sums, scales, c, epilogue.bias, epilogue.pre_activation), [&]<int kWidth>(Width<kWidth>) {
        for_each_run<kWidth>(c.rows, c.cols, FinishInt8Product<kWidth>{sums, row_scales, scales, c, epilogue});
      });
}

}  // namespace dragoman::backend::cuda::device
