#include "activation.h"
#include "random.h"

namespace dragoman::backend::cuda::device {
namespace {

template <int kWidth>
struct Add {
  Matrix a, b, y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    Run<kWidth> sum = load_run<kWidth>(a, i, j);
    const Run<kWidth> other = load_run<kWidth>(b, i, j);
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n) sum.values[n] += other.values[n];
    store_run(y, i, j, sum);
  }
};
template <int kWidth>
struct AddRow {
  Matrix x, row, y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    Run<kWidth> sum = load_run<kWidth>(x, i, j);
    const Run<kWidth> other = load_run<kWidth>(row, 0, j);
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n) sum.values[n] += other.values[n];
    store_run(y, i, j, sum);
  }
};
template <int kWidth>
struct Scale {
  Matrix x, y;
  float factor;
  bool accumulate;
  /// Clearing reads nothing, because the memory may contain NaN.
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    Run<kWidth> run = {};
    if (factor != 0) run = load_run<kWidth>(x, i, j);
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n) run.values[n] = factor == 0 ? 0 : factor * run.values[n];
    put_run(y, i, j, run, accumulate);
  }
};
template <int kWidth>
struct Multiply {
  Matrix a, b, y;
  bool accumulate;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    Run<kWidth> product = load_run<kWidth>(a, i, j);
    const Run<kWidth> other = load_run<kWidth>(b, i, j);
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n) product.values[n] *= other.values[n];
    put_run(y, i, j, product, accumulate);
  }
};
template <int kWidth>
struct Activate {
  Matrix x, y;
  ops::Activation activation;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    Run<kWidth> run = load_run<kWidth>(x, i, j);
    activate(activation, run);
    store_run(y, i, j, run);
  }
};
template <int kWidth>
struct ActivateBackward {
  Matrix x, y, dy, dx;
  ops::Activation activation;
  bool accumulate;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    Run<kWidth> gradient = load_run<kWidth>(dy, i, j);
    Run<kWidth> in = {};
    Run<kWidth> out = {};
    if (x.data != nullptr) in = load_run<kWidth>(x, i, j);
    if (y.data != nullptr) out = load_run<kWidth>(y, i, j);
    apply_slope(activation, in, out, gradient);
    put_run(dx, i, j, gradient, accumulate);
  }
};
template <class Words, int kWidth>
struct RoundTo {
  Matrix x;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    Run<kWidth> run = load_run<kWidth>(x, i, j);
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n) run.values[n] = widen(Words(), narrow(Words(), run.values[n]));
    store_run(x, i, j, run);
  }
};

struct Drop {
  Matrix x, y;
  Dropout dropout;
  bool accumulate;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    put(y, i, j, dropout_factor(dropout, i * y.cols + j) * at(x, i, j), accumulate);
  }
};
/// Applies dropout to two quads of a row, whose length is a multiple of 8.
struct DropTwoQuads {
  Matrix x, y;
  Dropout dropout;
  bool accumulate;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t first) const {
    const std::int64_t second = first + kWarp * kQuad;
    Quad kept[2] = {};
    if (first < y.cols) kept[0] = load_run<kQuad>(x, i, first);
    if (second < y.cols) kept[1] = load_run<kQuad>(x, i, second);
    const DropoutMask::Two factors = DropoutMask(dropout).factors(i * y.cols + first, i * y.cols + second);
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) {
      kept[0].values[n] *= factors.first.values[n];
      kept[1].values[n] *= factors.second.values[n];
    }
    if (first < y.cols) put_run(y, i, first, kept[0], accumulate);
    if (second < y.cols) put_run(y, i, second, kept[1], accumulate);
  }
};

/// Launches Kernel<kWidth>{arguments...} for the elements of y.
template <template <int> class Kernel, class... Arguments>
void for_each_run_of(bool wide, const Matrix& y, const Arguments&... arguments) {
  with_width<kQuad>(
      wide, [&]<int kWidth>(Width<kWidth>) { for_each_run<kWidth>(y.rows, y.cols, Kernel<kWidth>{arguments...}); });
}

}  // namespace

void add(const Matrix& a, const Matrix& b, const Matrix& y) {
  for_each_run_of<Add>(are_wide<kQuad>(a, b, y), y, a, b, y);
}
void add_row(const Matrix& x, const Matrix& row, const Matrix& y) {
  for_each_run_of<AddRow>(are_wide<kQuad>(x, row, y), y, x, row, y);
}
void scale(const Matrix& x, float factor, const Matrix& y, bool accumulate) {
  if (factor == 0 && accumulate) return;
  for_each_run_of<Scale>(are_wide<kQuad>(x, y), y, x, y, factor, accumulate);
}
void multiply(const Matrix& a, const Matrix& b, const Matrix& y, bool accumulate) {
  for_each_run_of<Multiply>(are_wide<kQuad>(a, b, y), y, a, b, y, accumulate);
}
void activation(const Matrix& x, ops::Activation activation, const Matrix& y) {
  for_each_run_of<Activate>(are_wide<kQuad>(x, y), y, x, y, activation);
}
void activation_backward(const Matrix& x, const Matrix& y, ops::Activation activation, const Matrix& dy,
                         const Matrix& dx, bool accumulate) {
  for_each_run_of<ActivateBackward>(are_wide<kQuad>(x, y, dy, dx), dx, x, y, dy, dx, activation, accumulate);
}
void dropout(const Matrix& x, const Dropout& dropout, const Matrix& y, bool accumulate) {
  if (are_wide<kQuad>(x, y) && y.cols % (2 * kQuad) == 0)
    for_each_two_quads(y.rows, y.cols, DropTwoQuads{x, y, dropout, accumulate});
  else
    for_each_element(y.rows, y.cols, Drop{x, y, dropout, accumulate});
}
void round_to(Half type, const Matrix& x) {
  with_words(type, [&]<class Words>(Words) {
    with_width<kQuad>(are_wide<kQuad>(x), [&]<int kWidth>(Width<kWidth>) {
      for_each_run<kWidth>(x.rows, x.cols, RoundTo<Words, kWidth>{x});
    });
  });
}

}  // namespace dragoman::backend::cuda::device
