#include "activation.h"

#include <cmath>

// Matrix products of our own, for all types and layouts: a block computes a tile of the result, for which it brings
// strips of both operands to shared memory. An element's sum goes through k in order, whatever the shape, so products
// are row-stable.
namespace dragoman::backend::cuda::device {
namespace {

constexpr int kTile = 64;            ///< rows and columns of a block's part of the result
constexpr int kStrip = 16;           ///< of k that are in shared memory at a time
constexpr int kSide = 16;            ///< threads along a side of the tile
constexpr int kOwn = kTile / kSide;  ///< rows and columns of a thread's part
static_assert(kSide * kSide == kThreads && kTile * kStrip % kThreads == 0);

/// op(x)(i, k) of a matrix of floats.
struct FloatOperand {
  Matrix x;
  bool transposed;
  bool rounded;
  SIMT_DEVICE float operator()(std::int64_t i, std::int64_t k) const {
    const float value = transposed ? at(x, k, i) : at(x, i, k);
    return rounded ? rounded_to_bf16(value) : value;
  }
  SIMT_DEVICE bool along_k() const { return !transposed; }
};
struct Bf16Operand {
  Bf16Matrix x;
  SIMT_DEVICE float operator()(std::int64_t i, std::int64_t k) const { return from_bf16(at(x, i, k)); }
  SIMT_DEVICE bool along_k() const { return true; }
};
struct Int8Operand {
  View<std::int8_t> x;
  SIMT_DEVICE std::int32_t operator()(std::int64_t i, std::int64_t k) const { return at(x, i, k); }
  SIMT_DEVICE bool along_k() const { return true; }
};

struct NoScales {
  SIMT_DEVICE float operator()(float sum, std::int64_t, std::int64_t) const { return sum; }
};
struct Int8Scales {
  const float* rows;
  const float* cols;
  /// As docs/numerics.md has it: the product of the scales first.
  SIMT_DEVICE float operator()(std::int32_t sum, std::int64_t row, std::int64_t col) const {
    return static_cast<float>(sum) * (rows[row] * cols[col]);
  }
};

/// c[i, j] = sum over k of a(i, k) * b(j, k).
template <class Number, class A, class B, class Scales>
struct Multiply {
  A a;
  B b;
  std::int64_t inner;
  Matrix c;
  Epilogue epilogue;
  Scales scales;

  /// Neighbouring threads read neighbouring memory.
  template <class Operand>
  SIMT_DEVICE static void bring(const Operand& x, std::int64_t first, std::int64_t count, std::int64_t first_k,
                                std::int64_t inner, const Shared<Number>& strip) {
    for (int e = simt::thread_index(); e < kTile * kStrip; e += kThreads) {
      const int i = x.along_k() ? e / kStrip : e % kTile;
      const int k = x.along_k() ? e % kStrip : e / kTile;
      const bool inside = first + i < count && first_k + k < inner;
      strip[k * kTile + i] = inside ? static_cast<Number>(x(first + i, first_k + k)) : Number{0};
    }
  }

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto a_strip = memory.take<Number>(kTile * kStrip);
    const auto b_strip = memory.take<Number>(kTile * kStrip);
    const std::int64_t first_row = simt::block_index_y() * kTile;
    const std::int64_t first_col = simt::block_index() * kTile;
    const int own_row = simt::thread_index() / kSide * kOwn;
    const int own_col = simt::thread_index() % kSide * kOwn;
    const bool works = first_row + own_row < c.rows && first_col + own_col < c.cols;
    Number sums[kOwn][kOwn] = {};
    for (std::int64_t first_k = 0; first_k < inner; first_k += kStrip) {
      bring(a, first_row, c.rows, first_k, inner, a_strip);
      bring(b, first_col, c.cols, first_k, inner, b_strip);
      simt::barrier();
      if (works)
        for (int k = 0; k < kStrip && first_k + k < inner; ++k) {
          Number b_values[kOwn];
          for (int j = 0; j < kOwn; ++j) b_values[j] = b_strip[k * kTile + own_col + j];
          for (int i = 0; i < kOwn; ++i) {
            const Number a_value = a_strip[k * kTile + own_row + i];
            for (int j = 0; j < kOwn; ++j) sums[i][j] += a_value * b_values[j];
          }
        }
      simt::barrier();
    }
    for (int i = 0; i < kOwn; ++i)
      for (int j = 0; j < kOwn; ++j) finish(first_row + own_row + i, first_col + own_col + j, sums[i][j]);
  }

  SIMT_DEVICE void finish(std::int64_t row, std::int64_t col, Number sum) const {
    if (row >= c.rows || col >= c.cols) return;
    float value = scales(sum, row, col);
    if (epilogue.bias.data != nullptr) value += at(epilogue.bias, 0, col);
    if (epilogue.pre_activation.data != nullptr) at(epilogue.pre_activation, row, col) = value;
    put(c, row, col, activated(epilogue.activation, value), epilogue.accumulate);
  }
};

template <class Number, class A, class B, class Scales>
void multiply_tiles(const A& a, const B& b, std::int64_t inner, const Matrix& c, const Epilogue& epilogue,
                    const Scales& scales) {
  simt::launch({blocks_of(c.cols, kTile), blocks_of(c.rows, kTile)}, kThreads, 2 * kTile * kStrip * sizeof(Number),
               Multiply<Number, A, B, Scales>{a, b, inner, c, epilogue, scales});
}

struct QuantizeRows {
  Matrix x;
  int range;
  View<std::int8_t> numbers;
  float* scales;

  SIMT_DEVICE void operator()() const {
    constexpr float kLeastMaximum = 0x1p-100F;  // tensor/int8.h
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(kWarps);
    const auto flags = memory.take<int>(kWarps);
    const std::int64_t row = simt::block_index();
    float maximum = 0;
    int infinite = 0;
    for (std::int64_t j = simt::thread_index(); j < x.cols; j += kThreads) {
      const float magnitude = fabsf(at(x, row, j));
      if (!(magnitude < INFINITY)) infinite = 1;
      maximum = fmaxf(maximum, magnitude);
    }
    maximum = reduce_block(maximum, Maximum(), cells);
    infinite = reduce_block(infinite, Maximum(), flags);
    const bool zeros = infinite != 0 || maximum < kLeastMaximum;
    const float factor = zeros ? 0 : static_cast<float>(range) / maximum;
    for (std::int64_t j = simt::thread_index(); j < x.cols; j += kThreads)
      at(numbers, row, j) = zeros ? std::int8_t{0} : static_cast<std::int8_t>(rintf(at(x, row, j) * factor));
    if (simt::thread_index() == 0)
      scales[row] = infinite != 0 ? NAN : (zeros ? 0 : maximum / static_cast<float>(range));
  }
};

}  // namespace

void product(const Product& arguments) {
  const auto& [a, transpose_a, b, transpose_b, rounded, c, epilogue] = arguments;
  multiply_tiles<float>(FloatOperand{a, transpose_a, rounded}, FloatOperand{b, !transpose_b, rounded},
                        transpose_a ? a.rows : a.cols, c, epilogue, NoScales{});
}
void product_bf16(const Matrix& a, const Bf16Matrix& weight, const Matrix& c, const Epilogue& epilogue) {
  multiply_tiles<float>(FloatOperand{a, false, true}, Bf16Operand{weight}, a.cols, c, epilogue, NoScales{});
}
void product_int8(const Int8Product& arguments) {
  multiply_tiles<std::int32_t>(Int8Operand{arguments.a}, Int8Operand{arguments.weight}, arguments.a.cols, arguments.c,
                               arguments.epilogue, Int8Scales{arguments.a_scales, arguments.weight_scales});
}
void quantize_rows(const Matrix& x, int range, const View<std::int8_t>& numbers, float* scales) {
  for_each_row(x.rows, 2 * kWarps * sizeof(double), QuantizeRows{x, range, numbers, scales});
}

}  // namespace dragoman::backend::cuda::device
