#include "activation.h"
#include "random.h"

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

/// The epilogue with a dropout, for two quads of a row, whose length is a multiple of 8.
struct FinishDroppedProduct {
  Matrix sums;
  Matrix c;
  Epilogue epilogue;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t first) const {
    const std::int64_t second = first + kWarp * kQuad;
    Quad values[2] = {};
    if (first < c.cols) values[0] = activated_quad(i, first);
    if (second < c.cols) values[1] = activated_quad(i, second);
    const DropoutMask::Two factors = DropoutMask(epilogue.dropout).factors(i * c.cols + first, i * c.cols + second);
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) {
      values[0].values[n] *= factors.first.values[n];
      values[1].values[n] *= factors.second.values[n];
    }
    if (first < c.cols) store(i, first, values[0]);
    if (second < c.cols) store(i, second, values[1]);
  }

 private:
  SIMT_DEVICE Quad activated_quad(std::int64_t row, std::int64_t col) const {
    Quad quad = load_run<kQuad>(sums, row, col);
    if (epilogue.bias.data != nullptr) {
      const Quad bias = load_run<kQuad>(epilogue.bias, 0, col);
      SIMT_UNROLL
      for (int n = 0; n < kQuad; ++n) quad.values[n] += bias.values[n];
    }
    if (epilogue.pre_activation.data != nullptr) store_run(epilogue.pre_activation, row, col, quad);
    activate(epilogue.activation, quad);
    return quad;
  }
  SIMT_DEVICE void store(std::int64_t row, std::int64_t col, const Quad& quad) const {
    store_run(c, row, col, quad);
    if (epilogue.words.data != nullptr) store_words(epilogue.words, epilogue.type, row, col, quad);
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

void drop_product(const Matrix& c, const Epilogue& epilogue) {
  dropout(c, epilogue.dropout, c, false);
  if (epilogue.words.data != nullptr) narrow_words(epilogue.type, c, epilogue.words);
}
void finish_product(const Matrix& sums, const Matrix& c, const Epilogue& epilogue) {
  if (epilogue.dropout.threshold > 0) {
    if (c.cols % (2 * kQuad) == 0 && are_wide<kQuad>(sums, c, epilogue.bias, epilogue.pre_activation)) {
      for_each_two_quads(c.rows, c.cols, FinishDroppedProduct{sums, c, epilogue});
      return;
    }
    Epilogue before = epilogue;
    before.dropout = {};
    finish_product(sums, c, before);
    drop_product(c, epilogue);
    return;
  }
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
