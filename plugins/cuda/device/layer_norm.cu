#include "column_sums.h"
#include "random.h"

#include <cmath>

// A warp has a row, and each lane has every 32nd quad. A lane keeps its first kQuads quads in registers. It reads the
// further quads of wider rows again. Rows that cannot be read as vectors are read again as a whole, with the same order
// of sums. Loads come before stores, because the compiler cannot know that they access different memory.
namespace dragoman::backend::cuda::device {
namespace {

/// Columns of a row that a warp reads together.
constexpr std::int64_t kQuadColumns = kWarp * kQuad;
/// Rows of a block. There are few, because a thread has many registers, and so that few rows still occupy many
/// processors.
constexpr int kRows = 4;
/// The largest number of quads for which a lane reads all operands early. With more quads, it reads an operand later if
/// the operand need not be in registers yet.
constexpr int kMaxEarlyQuads = 4;

template <int kQuads>
struct Kept {
  Quad quads[kQuads > 0 ? kQuads : 1];
  SIMT_DEVICE Quad& operator[](int q) { return quads[q]; }
  SIMT_DEVICE const Quad& operator[](int q) const { return quads[q]; }
};
SIMT_DEVICE std::int64_t column_of(int quad) {
  return quad * kQuadColumns + simt::thread_index() % kWarp * kQuad;
}
template <bool kWide, int kQuads>
SIMT_DEVICE void load(const Matrix& x, std::int64_t row, Kept<kQuads>& kept) {
  SIMT_UNROLL
  for (int q = 0; q < kQuads; ++q) kept[q] = load_quad<kWide>(x, row, column_of(q));
}
/// Calls f(element, index) for the elements of a quad that are in the row.
template <bool kWide, class Function>
SIMT_DEVICE void for_each_of(const Quad& quad, std::int64_t cols, std::int64_t col, const Function& f) {
  SIMT_UNROLL
  for (int n = 0; n < kQuad; ++n)
    if (is_in_row<kWide>(cols, col, n)) f(quad.values[n], n);
}
/// Calls f(column) for the first of every two quads of the lane that are not kept. All lanes of the warp make the same
/// number of calls.
template <int kQuads, class Function>
SIMT_DEVICE void for_each_other_two(std::int64_t cols, const Function& f) {
  for (std::int64_t first = kQuads * kQuadColumns; first < cols; first += 2 * kQuadColumns)
    f(first + simt::thread_index() % kWarp * kQuad);
}

/// Returns true if rows are aligned for vectors, and every two adjacent lanes share a block of random bits.
template <class... Views>
bool are_wide_rows(const Matrix& x, const Views&... views) {
  return x.cols % (2 * kQuad) == 0 && are_wide<kQuad>(x, views...);
}
/// Launches the kernel that keeps the smallest sufficient number of quads, because more registers mean fewer warps.
template <template <int, bool> class Kernel, class... Arguments>
void for_each_row_of_warps(bool wide, const Matrix& x, const Arguments&... arguments) {
  const simt::Grid grid{blocks_of(x.rows, kRows)};
  if (!wide)
    simt::launch(grid, kRows * kWarp, 0, Kernel<0, false>{arguments...});
  else if (x.cols <= 2 * kQuadColumns)
    simt::launch(grid, kRows * kWarp, 0, Kernel<2, true>{arguments...});
  else if (x.cols <= 4 * kQuadColumns)
    simt::launch(grid, kRows * kWarp, 0, Kernel<4, true>{arguments...});
  else
    simt::launch(grid, kRows * kWarp, 0, Kernel<8, true>{arguments...});
}

template <int kQuads, bool kWide>
struct Normalise {
  LayerNorm arguments;
  ResidualSum residual;

  SIMT_DEVICE void operator()() const {
    const std::int64_t row = simt::block_index() * kRows + simt::thread_index() / kWarp;
    const Matrix& x = arguments.x;
    if (row >= x.rows) return;
    const bool adds = residual.residual.data != nullptr;
    const DropoutMask mask(residual.dropout);
    constexpr bool kEarly = kQuads <= kMaxEarlyQuads;
    Kept<kQuads> own;
    Kept<kQuads> other;
    Kept<kQuads> gain;
    Kept<kQuads> bias;
    load<kWide>(x, row, own);
    if (adds) load<kWide>(residual.residual, row, other);
    if (kEarly) load_weights(gain, bias);

    float sum = 0;
    const auto add = [&](const Quad& quad, std::int64_t col) {
      for_each_of<kWide>(quad, x.cols, col, [&](float value, int) { sum += value; });
    };
    SIMT_UNROLL
    for (int q = 0; q < kQuads; q += 2) {
      if (adds) add_residual(row, column_of(q), mask, own[q], own[q + 1], other[q], other[q + 1]);
      add(own[q], column_of(q));
      add(own[q + 1], column_of(q + 1));
    }
    for_each_other_two<kQuads>(x.cols, [&](std::int64_t col) {
      Quad first = load_quad<kWide>(x, row, col);
      Quad second = load_quad<kWide>(x, row, col + kQuadColumns);
      if (adds)
        add_residual(row, col, mask, first, second, load_quad<kWide>(residual.residual, row, col),
                     load_quad<kWide>(residual.residual, row, col + kQuadColumns));
      add(first, col);
      add(second, col + kQuadColumns);
    });
    const auto cols = static_cast<float>(x.cols);
    const float mean = arguments.centred ? reduce_warp(sum, Sum()) / cols : 0;

    const Matrix& again = adds ? residual.sum : x;
    float squares = 0;
    const auto add_squares = [&](const Quad& quad, std::int64_t col) {
      for_each_of<kWide>(quad, x.cols, col, [&](float value, int) { squares += (value - mean) * (value - mean); });
    };
    SIMT_UNROLL
    for (int q = 0; q < kQuads; ++q) add_squares(own[q], column_of(q));
    for_each_other_two<kQuads>(x.cols, [&](std::int64_t col) {
      add_squares(load_quad<kWide>(again, row, col), col);
      add_squares(load_quad<kWide>(again, row, col + kQuadColumns), col + kQuadColumns);
    });
    const float variance = reduce_warp(squares, Sum()) / cols;
    const float inverse_deviation = 1 / sqrtf(variance + arguments.epsilon);

    if (!kEarly) load_weights(gain, bias);
    const auto finish = [&](std::int64_t col, Quad quad, const Quad& factors, const Quad& shifts) {
      SIMT_UNROLL
      for (int n = 0; n < kQuad; ++n)
        quad.values[n] = (quad.values[n] - mean) * inverse_deviation * factors.values[n] + shifts.values[n];
      store_quad<kWide>(arguments.y, row, col, quad);
      if (arguments.words.data != nullptr && col / 2 < arguments.words.cols)
        store_words(arguments.words, arguments.type, row, col, quad);
    };
    SIMT_UNROLL
    for (int q = 0; q < kQuads; ++q) finish(column_of(q), own[q], gain[q], bias[q]);
    for_each_other_two<kQuads>(x.cols, [&](std::int64_t col) {
      SIMT_UNROLL
      for (int q = 0; q < 2; ++q, col += kQuadColumns)
        finish(col, load_quad<kWide>(again, row, col), load_quad<kWide>(arguments.gain, 0, col), bias_of(col));
    });
    if (simt::thread_index() % kWarp != 0) return;
    if (arguments.mean.data != nullptr) at(arguments.mean, row, 0) = mean;
    if (arguments.inverse_deviation.data != nullptr) at(arguments.inverse_deviation, row, 0) = inverse_deviation;
  }

 private:
  SIMT_DEVICE Quad bias_of(std::int64_t col) const {
    return arguments.centred ? load_quad<kWide>(arguments.bias, 0, col) : Quad{};
  }
  SIMT_DEVICE void load_weights(Kept<kQuads>& gain, Kept<kQuads>& bias) const {
    load<kWide>(arguments.gain, 0, gain);
    SIMT_UNROLL
    for (int q = 0; q < kQuads; ++q) bias[q] = bias_of(column_of(q));
  }
  /// Turns two quads of x into quads of the sum, and stores them.
  SIMT_DEVICE void add_residual(std::int64_t row, std::int64_t col, const DropoutMask& mask, Quad& first, Quad& second,
                                const Quad& first_residual, const Quad& second_residual) const {
    const DropoutMask::Two factors = factors_of<kWide>(mask, residual.dropout, row * arguments.x.cols + col);
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) {
      first.values[n] = first_residual.values[n] + factors.first.values[n] * first.values[n];
      second.values[n] = second_residual.values[n] + factors.second.values[n] * second.values[n];
    }
    store_quad<kWide>(residual.sum, row, col, first);
    store_quad<kWide>(residual.sum, row, col + kQuadColumns, second);
  }
};

template <int kQuads, bool kWide>
struct NormaliseBackward {
  LayerNormBackward arguments;

  SIMT_DEVICE void operator()() const {
    const std::int64_t row = simt::block_index() * kRows + simt::thread_index() / kWarp;
    const Matrix& x = arguments.x;
    if (row >= x.rows) return;
    const bool centred = arguments.mean.data != nullptr;
    const DropoutMask mask(arguments.dropout);
    constexpr bool kEarly = kQuads <= kMaxEarlyQuads;
    // The operands of each element's gradient.
    Kept<kQuads> gradients;
    Kept<kQuads> normals;
    Kept<kQuads> gain;
    Kept<kQuads> others;
    load<kWide>(arguments.dy, row, gradients);
    load<kWide>(x, row, normals);
    load<kWide>(arguments.gain, 0, gain);
    if (kEarly) load_others(row, others);
    const float mean = centred ? at(arguments.mean, row, 0) : 0;
    const float inverse_deviation = at(arguments.inverse_deviation, row, 0);

    float sum = 0;
    float product_sum = 0;
    const auto prepare = [&](std::int64_t col, Quad& gradient, Quad& normal, const Quad& factors) {
      SIMT_UNROLL
      for (int n = 0; n < kQuad; ++n) {
        gradient.values[n] *= factors.values[n];
        normal.values[n] = (normal.values[n] - mean) * inverse_deviation;
      }
      for_each_of<kWide>(gradient, x.cols, col, [&](float value, int n) {
        sum += value;
        product_sum += value * normal.values[n];
      });
    };
    const auto prepare_again = [&](std::int64_t col, Quad& gradient, Quad& normal) {
      gradient = load_quad<kWide>(arguments.dy, row, col);
      normal = load_quad<kWide>(x, row, col);
      prepare(col, gradient, normal, load_quad<kWide>(arguments.gain, 0, col));
    };
    SIMT_UNROLL
    for (int q = 0; q < kQuads; ++q) prepare(column_of(q), gradients[q], normals[q], gain[q]);
    for_each_other_two<kQuads>(x.cols, [&](std::int64_t col) {
      Quad gradient;
      Quad normal;
      prepare_again(col, gradient, normal);
      prepare_again(col + kQuadColumns, gradient, normal);
    });
    const auto cols = static_cast<float>(x.cols);
    const float g_mean = centred ? reduce_warp(sum, Sum()) / cols : 0;
    const float product_mean = reduce_warp(product_sum, Sum()) / cols;

    if (!kEarly) load_others(row, others);
    const auto gradient_of = [&](const Quad& gradient, const Quad& normal, Quad other) {
      SIMT_UNROLL
      for (int n = 0; n < kQuad; ++n)
        other.values[n] += inverse_deviation * (gradient.values[n] - g_mean - normal.values[n] * product_mean);
      return other;
    };
    SIMT_UNROLL
    for (int q = 0; q < kQuads; ++q) gradients[q] = gradient_of(gradients[q], normals[q], others[q]);
    put<kQuads>(arguments.dresidual, row, column_of(0), gradients);
    if (arguments.dx.value.data != nullptr) {
      SIMT_UNROLL
      for (int q = 0; q < kQuads; q += 2) drop(row, column_of(q), mask, gradients[q], gradients[q + 1]);
      put<kQuads>(arguments.dx, row, column_of(0), gradients);
    }
    for_each_other_two<kQuads>(x.cols, [&](std::int64_t first) {
      Kept<2> two;
      SIMT_UNROLL
      for (int q = 0; q < 2; ++q) {
        const std::int64_t col = first + q * kQuadColumns;
        Quad gradient;
        Quad normal;
        prepare_again(col, gradient, normal);
        two[q] = gradient_of(gradient, normal, other_of(row, col));
      }
      put<2>(arguments.dresidual, row, first, two);
      if (arguments.dx.value.data == nullptr) return;
      drop(row, first, mask, two[0], two[1]);
      put<2>(arguments.dx, row, first, two);
    });
  }

 private:
  /// Returns the gradient that reaches the residual sum on other paths.
  SIMT_DEVICE Quad other_of(std::int64_t row, std::int64_t col) const {
    return arguments.dsum.data == nullptr ? Quad{} : load_quad<kWide>(arguments.dsum, row, col);
  }
  SIMT_DEVICE void load_others(std::int64_t row, Kept<kQuads>& others) const {
    SIMT_UNROLL
    for (int q = 0; q < kQuads; ++q) others[q] = other_of(row, column_of(q));
  }
  SIMT_DEVICE void drop(std::int64_t row, std::int64_t col, const DropoutMask& mask, Quad& first, Quad& second) const {
    const DropoutMask::Two factors = factors_of<kWide>(mask, arguments.dropout, row * arguments.x.cols + col);
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) {
      first.values[n] *= factors.first.values[n];
      second.values[n] *= factors.second.values[n];
    }
  }
  template <int kCount>
  SIMT_DEVICE static void put(const Target& target, std::int64_t row, std::int64_t first, const Kept<kCount>& values) {
    if (target.value.data == nullptr) return;
    Kept<kCount> before = {};
    if (target.accumulate) SIMT_UNROLL
    for (int q = 0; q < kCount; ++q) before[q] = load_quad<kWide>(target.value, row, first + q * kQuadColumns);
    SIMT_UNROLL
    for (int q = 0; q < kCount; ++q) {
      SIMT_UNROLL
      for (int n = 0; n < kQuad; ++n) before[q].values[n] += values[q].values[n];
      store_quad<kWide>(target.value, row, first + q * kQuadColumns, before[q]);
    }
  }
};

/// Loads and adds the terms of the gradients of gain and bias.
struct NormTerms {
  static constexpr int kTerms = 2;
  static constexpr int kAtOnce = 2;
  Matrix x, mean, inverse_deviation, dy;

  struct Loaded {
    Quad x;
    Quad dy;
    float mean;
    float inverse_deviation;
  };
  template <bool kWide>
  SIMT_DEVICE Loaded load(std::int64_t row, std::int64_t col) const {
    return {load_quad<kWide>(x, row, col), load_quad<kWide>(dy, row, col), mean.data == nullptr ? 0 : at(mean, row, 0),
            at(inverse_deviation, row, 0)};
  }
  SIMT_DEVICE static void add(const Loaded& loaded, Quad (&sums)[kTerms]) {
    SIMT_UNROLL
    for (int n = 0; n < kQuad; ++n) {
      sums[0].values[n] += loaded.dy.values[n] * (loaded.x.values[n] - loaded.mean) * loaded.inverse_deviation;
      sums[1].values[n] += loaded.dy.values[n];
    }
  }
};

}  // namespace

void layer_norm(const LayerNorm& arguments, const ResidualSum& residual) {
  const LayerNorm& a = arguments;
  for_each_row_of_warps<Normalise>(are_wide_rows(a.x, a.gain, a.bias, a.y, residual.residual, residual.sum), a.x, a,
                                   residual);
}
void layer_norm_backward(const LayerNormBackward& arguments) {
  const LayerNormBackward& a = arguments;
  if (a.dgain.value.data != nullptr || a.dbias.value.data != nullptr)
    sum_columns(a.x.rows, a.x.cols, are_wide<kQuad>(a.x, a.dy), NormTerms{a.x, a.mean, a.inverse_deviation, a.dy},
                {a.dgain, a.dbias}, a.partial);
  if (a.dx.value.data != nullptr || a.dresidual.value.data != nullptr)
    for_each_row_of_warps<NormaliseBackward>(are_wide_rows(a.x, a.gain, a.dy, a.dx.value, a.dsum, a.dresidual.value),
                                             a.x, a);
}

}  // namespace dragoman::backend::cuda::device
