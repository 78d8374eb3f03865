#include "activation.h"

// Matrix products on tensor cores. Strips of both operands are copied to shared memory asynchronously, several strips
// ahead. A warp multiplies tiles of them. An element's sum goes through its inputs in the same order for any shape of
// the block's tile, so products are row-stable.
namespace dragoman::backend::cuda::device {
namespace {

constexpr int kStep = 8;            ///< words of a row that multiply_tile() takes
constexpr int kStrip = kWordStrip;  ///< words of a row that are copied at a time
constexpr int kPitch = kStrip + 4;  ///< words from row to row in shared memory; all banks are read at once
constexpr int kCopied = 4;          ///< words of one copy
constexpr int kStages = 3;          ///< strips that are in shared memory or in flight
/// With fewer large tiles than this, smaller ones are used to occupy the device.
constexpr std::int64_t kEnoughTiles = 64;
static_assert(kStrip % kStep == 0);

/// The parts of the result that a block and each of its warps compute.
template <int kWarpRowsOfBlock, int kRowsOfWarp, int kColsOfWarp>
struct Tile {
  static constexpr int kWarpRows = kWarpRowsOfBlock;
  static constexpr int kWarpCols = kWarps / kWarpRows;
  static constexpr int kOwnRows = kRowsOfWarp;
  static constexpr int kOwnCols = kColsOfWarp;
  static constexpr int kRows = kWarpRows * kOwnRows;
  static constexpr int kCols = kWarpCols * kOwnCols;
};
using LargeTile = Tile<2, 64, 32>;
using SmallTile = Tile<2, 16, 16>;

struct NoScales {
  SIMT_DEVICE float operator()(float sum, std::int64_t, std::int64_t) const { return sum; }
};
struct Int8Scales {
  const float* rows;
  const float* cols;
  /// The product of the scales comes first, as docs/concepts/numerics.md specifies.
  SIMT_DEVICE float operator()(std::int32_t sum, std::int64_t row, std::int64_t col) const {
    return static_cast<float>(sum) * (rows[row] * cols[col]);
  }
};

/// Computes c[i, j] = sum over the values of a's row i and b's row j.
template <class Tile, class Words, class Number, class Scales>
struct MultiplyTiles {
  WordMatrix a;
  WordMatrix b;
  Matrix c;
  Epilogue epilogue;
  Scales scales;

  static constexpr int kStageWords = (Tile::kRows + Tile::kCols) * kPitch;
  static constexpr int kRowTiles = Tile::kOwnRows / 16;
  static constexpr int kColTiles = Tile::kOwnCols / 8;

  /// Copies rows to shared memory. Rows beyond the last one are copies of it; their results are not stored.
  SIMT_DEVICE static void bring_rows(const WordMatrix& x, std::int64_t first, int rows, std::int64_t first_word,
                                     const Shared<std::uint32_t>& strip, int place) {
    constexpr int kCopies = kStrip / kCopied;  // per row
    for (int e = simt::thread_index(); e < rows * kCopies; e += kThreads) {
      const int row = e / kCopies;
      const int word = e % kCopies * kCopied;
      simt::copy_async(strip, place + row * kPitch + word, &at(x, least(first + row, x.rows - 1), first_word + word));
    }
  }
  SIMT_DEVICE void bring(std::int64_t strip, std::int64_t first_row, std::int64_t first_col,
                         const Shared<std::uint32_t>& strips) const {
    const int place = static_cast<int>(strip % kStages) * kStageWords;
    bring_rows(a, first_row, Tile::kRows, strip * kStrip, strips, place);
    bring_rows(b, first_col, Tile::kCols, strip * kStrip, strips, place + Tile::kRows * kPitch);
  }

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto strips = memory.take<std::uint32_t>(kStages * kStageWords);
    const std::int64_t first_row = simt::block_index_y() * Tile::kRows;
    const std::int64_t first_col = simt::block_index() * Tile::kCols;
    const int warp = simt::thread_index() / kWarp;
    const int lane = simt::thread_index() % kWarp;
    const int own_row = warp / Tile::kWarpCols * Tile::kOwnRows;
    const int own_col = warp % Tile::kWarpCols * Tile::kOwnCols;
    Number sums[kRowTiles][kColTiles][4] = {};

    const std::int64_t count = a.cols / kStrip;
    for (int strip = 0; strip < kStages - 1; ++strip) {
      if (strip < count) bring(strip, first_row, first_col, strips);
      simt::commit_copies();
    }
    for (std::int64_t strip = 0; strip < count; ++strip) {
      simt::wait_for_copies<kStages - 2>();
      simt::barrier();  // all threads have this strip, and none still reads the one that is overwritten next
      if (strip + kStages - 1 < count) bring(strip + kStages - 1, first_row, first_col, strips);
      simt::commit_copies();
      const int of_a = static_cast<int>(strip % kStages) * kStageWords + (own_row + lane / 4) * kPitch + lane % 4;
      const int of_b =
          static_cast<int>(strip % kStages) * kStageWords + (Tile::kRows + own_col + lane / 4) * kPitch + lane % 4;
      for (int word = 0; word < kStrip; word += kStep) multiply_step(strips, of_a + word, of_b + word, sums);
    }

    SIMT_UNROLL
    for (int i = 0; i < kRowTiles * kColTiles; ++i) {
      const std::int64_t row = first_row + own_row + i / kColTiles * 16 + lane / 4;
      const std::int64_t col = first_col + own_col + i % kColTiles * 8 + lane % 4 * 2;
      SIMT_UNROLL
      for (int s = 0; s < 4; ++s) finish(row + s / 2 * 8, col + s % 2, sums[i / kColTiles][i % kColTiles][s]);
    }
  }

  SIMT_DEVICE static void multiply_step(const Shared<std::uint32_t>& strips, int of_a, int of_b,
                                        Number (&sums)[kRowTiles][kColTiles][4]) {
    std::uint32_t b_words[kColTiles][2];
    SIMT_UNROLL
    for (int j = 0; j < kColTiles; ++j) SIMT_UNROLL
    for (int half = 0; half < 2; ++half) b_words[j][half] = strips[of_b + j * 8 * kPitch + half * 4];
    SIMT_UNROLL
    for (int i = 0; i < kRowTiles; ++i) {
      std::uint32_t a_words[4];
      SIMT_UNROLL
      for (int part = 0; part < 4; ++part)
        a_words[part] = strips[of_a + (i * 16 + part % 2 * 8) * kPitch + part / 2 * 4];
      SIMT_UNROLL
      for (int j = 0; j < kColTiles; ++j) simt::multiply_tile(Words(), sums[i][j], a_words, b_words[j]);
    }
  }

  SIMT_DEVICE void finish(std::int64_t row, std::int64_t col, Number sum) const {
    if (row < c.rows && col < c.cols) write_product(c, epilogue, row, col, scales(sum, row, col));
  }
};

template <class Tile, class Words, class Number, class Scales>
void multiply_tiles(const WordMatrix& a, const WordMatrix& b, const Matrix& c, const Epilogue& epilogue,
                    const Scales& scales) {
  using Kernel = MultiplyTiles<Tile, Words, Number, Scales>;
  simt::launch({blocks_of(c.cols, Tile::kCols), blocks_of(c.rows, Tile::kRows)}, kThreads,
               kStages * Kernel::kStageWords * sizeof(std::uint32_t), Kernel{a, b, c, epilogue, scales});
}
template <class Words, class Number, class Scales>
void multiply(const WordMatrix& a, const WordMatrix& b, const Matrix& c, const Epilogue& epilogue,
              const Scales& scales) {
  if (blocks_of(c.cols, LargeTile::kCols) * blocks_of(c.rows, LargeTile::kRows) >= kEnoughTiles)
    multiply_tiles<LargeTile, Words, Number>(a, b, c, epilogue, scales);
  else
    multiply_tiles<SmallTile, Words, Number>(a, b, c, epilogue, scales);
}

/// A thread has 4 words with 8 values, which it reads as vectors if `kWide`.
template <class Words, bool kWide>
struct NarrowRows {
  static constexpr int kWidth = 4;
  Matrix x;
  WordMatrix y;
  SIMT_DEVICE void operator()(std::int64_t i, std::int64_t word) const {
    const std::int64_t j = 2 * word;
    Run<2 * kWidth> run = {};
    if (kWide && j + 2 * kWidth <= x.cols) {
      run = load_run<2 * kWidth>(x, i, j);
    } else {
      SIMT_UNROLL
      for (int n = 0; n < 2 * kWidth; ++n)
        if (j + n < x.cols) run.values[n] = at(x, i, j + n);
    }
    simt::Vector<std::uint32_t, kWidth> words;
    SIMT_UNROLL
    for (int n = 0; n < kWidth; ++n) words.values[n] = word_of(Words(), run.values[2 * n], run.values[2 * n + 1]);
    simt::store_vector(&at(y, i, word), words);
  }
};

/// A block transposes a square of 2 kWarp rows and kWarp words. Adjacent threads read and write adjacent memory.
struct TurnWords {
  WordMatrix x;
  WordMatrix y;
  static constexpr int kPitch = kWarp + 1;
  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto square = memory.take<std::uint32_t>(2 * kWarp * kPitch);
    const std::int64_t first_row = simt::block_index_y() * 2 * kWarp;
    const std::int64_t first_word = simt::block_index() * kWarp;
    for (int e = simt::thread_index(); e < 2 * kWarp * kWarp; e += kThreads) {
      const std::int64_t row = first_row + e / kWarp;
      const std::int64_t word = first_word + e % kWarp;
      square[e / kWarp * kPitch + e % kWarp] = row < x.rows && word < x.cols ? at(x, row, word) : 0;
    }
    simt::barrier();
    for (int e = simt::thread_index(); e < kWarp * kWarp; e += kThreads) {
      const int of_x = e / kWarp;
      const int of_y = e % kWarp;
      const std::uint32_t above = square[2 * of_y * kPitch + of_x];
      const std::uint32_t below = square[(2 * of_y + 1) * kPitch + of_x];
      const std::int64_t row = 2 * (first_word + of_x);
      put_word(row, first_row / 2 + of_y, (above & 0xFFFFU) | below << 16);
      put_word(row + 1, first_row / 2 + of_y, above >> 16 | (below & 0xFFFF0000U));
    }
  }
  SIMT_DEVICE void put_word(std::int64_t row, std::int64_t word, std::uint32_t value) const {
    if (row < y.rows && word < y.cols) at(y, row, word) = value;
  }
};

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
    for (std::int64_t j = simt::thread_index(); j < numbers.stride; j += kThreads)
      numbers.data[row * numbers.stride + j] =
          zeros || j >= x.cols ? std::int8_t{0} : static_cast<std::int8_t>(rintf(at(x, row, j) * factor));
    if (simt::thread_index() == 0)
      scales[row] = infinite != 0 ? NAN : (zeros ? 0 : maximum / static_cast<float>(range));
  }
};

}  // namespace

void narrow_words(Half type, const Matrix& x, const WordMatrix& y) {
  // Rows of y are strips of words, so they are always wide. The length of the rows of x need not be a multiple of a
  // run.
  const bool wide = rows_are_wide(x);
  with_words(type, [&]<class Words>(Words) {
    if (wide)
      for_each_run<NarrowRows<Words, true>::kWidth>(y.rows, y.cols, NarrowRows<Words, true>{x, y});
    else
      for_each_run<NarrowRows<Words, false>::kWidth>(y.rows, y.cols, NarrowRows<Words, false>{x, y});
  });
}
void narrow_values(Half type, const float* x, std::int64_t count, std::uint16_t* y) {
  // Each group of 8 values is a row, so that their number is not limited.
  constexpr std::int64_t kRow = 8;
  narrow_words(type, {const_cast<float*>(x), count / kRow, kRow, kRow},
               {reinterpret_cast<std::uint32_t*>(y), count / kRow, kRow / 2, kRow / 2});
}
void turn_words(const WordMatrix& x, const WordMatrix& y) {
  simt::launch({blocks_of(y.rows, 2 * kWarp), blocks_of(y.cols, kWarp)}, kThreads,
               2 * kWarp * TurnWords::kPitch * sizeof(std::uint32_t), TurnWords{x, y});
}
void quantize_words(const Matrix& x, int range, const WordMatrix& y, float* scales) {
  const View<std::int8_t> numbers{reinterpret_cast<std::int8_t*>(y.data), y.rows, x.cols, 4 * y.stride};
  for_each_row(x.rows, 2 * kWarps * sizeof(double), QuantizeRows{x, range, numbers, scales});
}
void product_of_halves(Half type, const WordMatrix& a, const WordMatrix& b, const Matrix& c, const Epilogue& epilogue) {
  with_words(type, [&]<class Words>(Words) { multiply<Words, float>(a, b, c, epilogue, NoScales{}); });
}
void product_int8(const Int8Product& arguments) {
  multiply<simt::Int8, std::int32_t>(arguments.a, arguments.weight, arguments.c, arguments.epilogue,
                                     Int8Scales{arguments.a_scales, arguments.weight_scales});
}

}  // namespace dragoman::backend::cuda::device
