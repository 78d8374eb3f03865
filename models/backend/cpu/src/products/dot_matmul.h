#pragma once

#include "blocks.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include <dragoman/core/function_ref.h>
#include <dragoman/tensor/context.h>

/// Products of floats that are rounded to bf16, with AMX or AVX512_BF16 (has_fast_bf16()). The factors are rounded
/// while they are packed in the order of multiplication. So no separate rounded copy exists, and one pass over a matrix
/// can pack it in two orders.
namespace dragoman::backend::cpu {

/// One rounded factor in panels. A panel has several lines (rows of the left factor, columns of the right one). Values
/// are stored in pairs of adjacent depths; the product sums over the depth.
class DotFactor {
 public:
  enum class Order : std::uint8_t {
    /// Consecutive pairs belong to one line. Packed from rows that are lines.
    kLeftLines,
    /// Packed from columns that are lines. With AMX, the same as kLeftLines; otherwise, consecutive pairs belong to the
    /// lines of a panel.
    kLeftColumns,
    /// Consecutive pairs belong to the lines of a panel of the right factor.
    kRight,
  };

  /// Allocates `lines` lines of `depth` values in the context's arena.
  DotFactor(tensor::Context& context, Order order, std::int64_t lines, std::int64_t depth);

  /// Fills lines [first, first + count) with the rows of x. `first` must be a multiple of kDotRows. So must `count`,
  /// unless these are the last lines.
  void put_lines(const float* x, std::int64_t stride, std::int64_t first, std::int64_t count) const;
  /// Fills depths [first, first + count) of all lines with the rows of x, with the same restrictions. Not for factors
  /// made as kLeftLines.
  void put_depths(const float* x, std::int64_t stride, std::int64_t first, std::int64_t count) const;

  std::int64_t lines() const noexcept { return lines_; }
  std::int64_t depth() const noexcept { return depth_; }

  /// The positions of pairs: pair p of line l in a panel is at data + l * line_stride + p * pair_stride. In lines for
  /// AMX this holds for every 16th pair, and the 15 that follow it are next to it.
  struct Panel {
    std::uint16_t* data;
    std::int64_t line_stride;
    std::int64_t pair_stride;
  };
  /// The number of depths that are multiplied at a time. The last chunk is padded with zeros to a multiple of kDotRows.
  static constexpr std::int64_t kChunk = 512;
  std::int64_t chunks() const noexcept { return (depth_ + kChunk - 1) / kChunk; }
  /// The panels of a chunk: the first one, and the number of values from one to the next.
  struct Panels {
    std::int64_t pairs;
    Panel first;
    std::int64_t step;

    Panel operator[](std::int64_t number) const noexcept {
      return {first.data + number * step, first.line_stride, first.pair_stride};
    }
  };
  Panels panels(std::int64_t chunk) const noexcept;

 private:
  void put_columns(const float* x, std::int64_t stride, std::int64_t first, std::int64_t count) const;

  Order order_;
  std::int64_t lines_;
  std::int64_t depth_;
  std::int64_t width_;  ///< lines of a panel
  std::int64_t panels_;
  std::uint16_t* data_;
};

/// Rows are packed in multiples of this number.
inline constexpr std::int64_t kDotRows = 32;
/// The rows of a matrix that one block of work packs, a function of the shape alone.
inline std::int64_t dot_rows_per_block(std::int64_t cols) {
  return (rows_per_block(cols) + kDotRows - 1) / kDotRows * kDotRows;
}

/// A matrix whose rows are packed into a factor, as its lines or as its depths.
struct DotPacking {
  DotFactor factor;
  tensor::Tensor matrix;
  bool lines;

  void rows(std::int64_t begin, std::int64_t end) const {
    const auto* x = matrix.row<float>(begin);
    lines ? factor.put_lines(x, matrix.stride, begin, end - begin)
          : factor.put_depths(x, matrix.stride, begin, end - begin);
  }
};
/// Fills all factors in one parallel region.
void pack(tensor::Context& context, std::span<const DotPacking> packings);

/// A product that is divided into tiles, each a block of work. An element of c is summed in the order of depth, so its
/// bits do not depend on the tiles or on other lines.
class DotProduct {
 public:
  /// c [left.lines(), right.lines()] = left * right, or c += ...
  DotProduct(const DotFactor& left, const DotFactor& right, const tensor::Tensor& c, bool accumulate);

  std::int64_t tiles() const noexcept { return down_ * across_; }
  Tile tile(std::int64_t number) const noexcept;
  /// Computes a tile of c.
  void multiply(const Tile& tile) const;

 private:
  /// With AMX; see tile_dot_product.cpp.
  void multiply_in_tiles(const Tile& tile) const;

  DotFactor left_;
  DotFactor right_;
  tensor::Tensor c_;
  bool accumulate_;
  std::int64_t tile_rows_;
  std::int64_t tile_cols_;
  std::int64_t down_;
  std::int64_t across_;
};

}  // namespace dragoman::backend::cpu
