#include "activation.h"
#include "random.h"

namespace dragoman::backend::cuda::device {
namespace {

struct Add {
  Matrix a, b, y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const { at(y, i, j) = at(a, i, j) + at(b, i, j); }
};
struct AddRow {
  Matrix x, row, y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const { at(y, i, j) = at(x, i, j) + at(row, 0, j); }
};
struct Scale {
  Matrix x, y;
  float factor;
  bool accumulate;
  /// Clearing reads nothing, since what is there may be NaN.
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    put(y, i, j, factor == 0 ? 0 : factor * at(x, i, j), accumulate);
  }
};
struct Multiply {
  Matrix a, b, y;
  bool accumulate;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    put(y, i, j, at(a, i, j) * at(b, i, j), accumulate);
  }
};
struct Activate {
  Matrix x, y;
  ops::Activation activation;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    at(y, i, j) = activated(activation, at(x, i, j));
  }
};
struct ActivateBackward {
  Matrix x, y, dy, dx;
  ops::Activation activation;
  bool accumulate;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    const float in = x.data == nullptr ? 0 : at(x, i, j);
    const float out = y.data == nullptr ? 0 : at(y, i, j);
    put(dx, i, j, at(dy, i, j) * slope(activation, in, out), accumulate);
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
template <class Words>
struct RoundTo {
  Matrix x;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t j) const {
    at(x, i, j) = widen(Words(), narrow(Words(), at(x, i, j)));
  }
};

}  // namespace

void add(const Matrix& a, const Matrix& b, const Matrix& y) {
  for_each_element(y.rows, y.cols, Add{a, b, y});
}
void add_row(const Matrix& x, const Matrix& row, const Matrix& y) {
  for_each_element(y.rows, y.cols, AddRow{x, row, y});
}
void scale(const Matrix& x, float factor, const Matrix& y, bool accumulate) {
  if (factor == 0 && accumulate) return;
  for_each_element(y.rows, y.cols, Scale{x, y, factor, accumulate});
}
void multiply(const Matrix& a, const Matrix& b, const Matrix& y, bool accumulate) {
  for_each_element(y.rows, y.cols, Multiply{a, b, y, accumulate});
}
void activation(const Matrix& x, ops::Activation activation, const Matrix& y) {
  for_each_element(y.rows, y.cols, Activate{x, y, activation});
}
void activation_backward(const Matrix& x, const Matrix& y, ops::Activation activation, const Matrix& dy,
                         const Matrix& dx, bool accumulate) {
  for_each_element(dx.rows, dx.cols, ActivateBackward{x, y, dy, dx, activation, accumulate});
}
void dropout(const Matrix& x, const Dropout& dropout, const Matrix& y, bool accumulate) {
  for_each_element(y.rows, y.cols, Drop{x, y, dropout, accumulate});
}
void round_to(Half type, const Matrix& x) {
  with_words(type, [&]<class Words>(Words) { for_each_element(x.rows, x.cols, RoundTo<Words>{x}); });
}

}  // namespace dragoman::backend::cuda::device
