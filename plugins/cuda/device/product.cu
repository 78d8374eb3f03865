#include "activation.h"

// Products of floats in fp32, in all layouts. A block computes a tile of the result, and copies strips of both operands
// to shared memory for it. An element's sum goes through k in order for any shape, so products are row-stable.
namespace dragoman::backend::cuda::device {
namespace {

constexpr int kTile = 64;            ///< rows and columns of a block's tile
constexpr int kStrip = 16;           ///< length in k of the strips in shared memory
constexpr int kSide = 16;            ///< threads along a side of the tile
constexpr int kOwn = kTile / kSide;  ///< rows and columns of a thread's part
static_assert(kSide * kSide == kThreads && kTile * kStrip % kThreads == 0);

/// Access to op(x)(i, k).
struct Operand {
  Matrix x;
  bool transposed;
  SIMT_DEVICE float operator()(std::int64_t i, std::int64_t k) const { return transposed ? at(x, k, i) : at(x, i, k); }
};

/// Computes c[i, j] = sum over k of a(i, k) * b(j, k).
struct Multiply {
  Operand a;
  Operand b;
  std::int64_t inner;
  Matrix c;
  Epilogue epilogue;

  /// Copies a strip to shared memory. Adjacent threads read adjacent memory.
  SIMT_DEVICE static void bring(const Operand& x, std::int64_t first, std::int64_t count, std::int64_t first_k,
                                std::int64_t inner, const Shared<float>& strip) {
    for (int e = simt::thread_index(); e < kTile * kStrip; e += kThreads) {
      const int i = x.transposed ? e % kTile : e / kStrip;
      const int k = x.transposed ? e / kTile : e % kStrip;
      const bool inside = first + i < count && first_k + k < inner;
      strip[k * kTile + i] = inside ? x(first + i, first_k + k) : 0;
    }
  }

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto a_strip = memory.take<float>(kTile * kStrip);
    const auto b_strip = memory.take<float>(kTile * kStrip);
    const std::int64_t first_row = simt::block_index_y() * kTile;
    const std::int64_t first_col = simt::block_index() * kTile;
    const int own_row = simt::thread_index() / kSide * kOwn;
    const int own_col = simt::thread_index() % kSide * kOwn;
    const bool works = first_row + own_row < c.rows && first_col + own_col < c.cols;
    float sums[kOwn][kOwn] = {};
    for (std::int64_t first_k = 0; first_k < inner; first_k += kStrip) {
      bring(a, first_row, c.rows, first_k, inner, a_strip);
      bring(b, first_col, c.cols, first_k, inner, b_strip);
      simt::barrier();
      if (works)
        for (int k = 0; k < kStrip && first_k + k < inner; ++k) {
          float b_values[kOwn];
          for (int j = 0; j < kOwn; ++j) b_values[j] = b_strip[k * kTile + own_col + j];
          for (int i = 0; i < kOwn; ++i) {
            const float a_value = a_strip[k * kTile + own_row + i];
            for (int j = 0; j < kOwn; ++j) sums[i][j] += a_value * b_values[j];
          }
        }
      simt::barrier();
    }
    for (int i = 0; i < kOwn; ++i)
      for (int j = 0; j < kOwn; ++j) finish(first_row + own_row + i, first_col + own_col + j, sums[i][j]);
  }

  SIMT_DEVICE void finish(std::int64_t row, std::int64_t col, float sum) const {
    if (row < c.rows && col < c.cols) write_product(c, epilogue, row, col, sum);
  }
};

}  // namespace

void product(const Product& arguments) {
  const auto& [a, transpose_a, b, transpose_b, c, epilogue] = arguments;
  simt::launch({blocks_of(c.cols, kTile), blocks_of(c.rows, kTile)}, kThreads, 2 * kTile * kStrip * sizeof(float),
               Multiply{{a, transpose_a}, {b, !transpose_b}, transpose_a ? a.rows : a.cols, c, epilogue});
}

}  // namespace dragoman::backend::cuda::device
