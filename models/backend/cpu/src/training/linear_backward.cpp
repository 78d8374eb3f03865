#include <algorithm>
#include <tuple>

#include "column_sum.h"
#include "dropout_mask.h"
#include "products/dot_matmul.h"
#include "products/gemm.h"
#include "kernels.h"
#include "products/matmul.h"

#include <dragoman/ops/linear.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training/linear_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/activation-inl.h"
#include "simd/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dragoman::backend::cpu {
namespace HWY_NAMESPACE {

/// Propagates rows [begin, end) through dropout and activation into `dz`, which has no gaps. If `sums` is not null,
/// adds them to `sums`.
void differentiate_rows(const ops::LinearBackwardArguments& arguments, const DropoutMask& mask, std::int64_t begin,
                        std::int64_t end, float* dz, float* sums) {
  const auto cols = static_cast<std::size_t>(arguments.dy.cols);
  // A ReLU whose output is above zero was not dropped.
  const bool draws_mask = mask.active() && arguments.activation != ops::Activation::kRelu;
  const float scale = mask.scale;
  visit_activation(arguments.activation, [&](auto function) HWY_ATTR {
    for (std::int64_t r = begin; r < end; ++r, dz += cols) {
      const float* dy = arguments.dy.row<float>(r);
      // Each function reads one of z and y and ignores the other.
      const float* y = arguments.y.row<float>(r);
      const float* z = arguments.pre_activation.empty() ? y : arguments.pre_activation.row<float>(r);
      const auto put = [=](std::size_t i, auto vector, Floats factor) HWY_ATTR {
        const Floats kept = hn::Mul(vector.load(dy + i), factor);
        const Floats gradient = hn::Mul(kept, function.slope(vector.load(z + i), vector.load(y + i)));
        vector.store(gradient, dz + i);
        if (sums != nullptr) vector.store(hn::Add(vector.load(sums + i), gradient), sums + i);
      };
      if (!draws_mask) {
        for_each_vector(cols, [=](std::size_t i, auto vector) HWY_ATTR { put(i, vector, set(scale)); });
        continue;
      }
      const std::uint64_t first = static_cast<std::uint64_t>(r) * cols;
      for_each_masked_chunk(mask, first, cols, [&](std::size_t at, std::size_t count, const float* factors) HWY_ATTR {
        for_each_vector(count,
                        [=](std::size_t i, auto vector) HWY_ATTR { put(at + i, vector, vector.load(factors + i)); });
      });
    }
  });
}

void add_rows(const Tensor& x, std::int64_t begin, std::int64_t end, float* sums) {
  for (std::int64_t r = begin; r < end; ++r) {
    const float* row = x.row<float>(r);
    for_each_vector(static_cast<std::size_t>(x.cols), [=](std::size_t i, auto vector) HWY_ATTR {
      vector.store(hn::Add(vector.load(sums + i), vector.load(row + i)), sums + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dragoman::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dragoman::backend::cpu {

HWY_EXPORT(differentiate_rows);
HWY_EXPORT(add_rows);

namespace {

using ops::LinearBackwardArguments;

float* floats(Context& context, std::int64_t count) {
  return static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(count) * sizeof(float)));
}

/// Blocks of rows of dy, each summed in order.
struct Blocks {
  std::int64_t rows;
  std::int64_t count;

  explicit Blocks(std::int64_t all)
      : rows((reduction_block_rows(all) + kDotRows - 1) / kDotRows * kDotRows), count((all + rows - 1) / rows) {}
};

/// Computes a few rows of dz at a time, which stay in a cache until all results that need them are computed. `whole`
/// receives all rows of dz, unless dz is dy. If `whole` is empty, there is memory for a few rows only.
class Differentiation {
 public:
  Differentiation(Context& context, const LinearBackwardArguments& arguments, const DropoutMask& mask,
                  const Blocks& blocks, float* whole = nullptr)
      : arguments_(arguments), mask_(mask), blocks_(blocks), whole_(whole) {
    const std::int64_t cols = arguments.dy.cols;
    if (whole == nullptr && arguments.activation != ops::Activation::kNone)
      few_ = floats(context, blocks.count * kDotRows * cols);
    if (!arguments.dbias.value.empty()) sums_ = floats(context, blocks.count * cols);
  }

  /// Calls use(first row, number of rows, their dz, its stride) along a block.
  template <class Use>
  void for_each(std::int64_t block, const Use& use) const {
    const Tensor& dy = arguments_.dy;
    float* sums = sums_ == nullptr ? nullptr : sums_ + block * dy.cols;
    if (sums != nullptr) std::fill_n(sums, dy.cols, 0.0F);
    const std::int64_t end = std::min(dy.rows, (block + 1) * blocks_.rows);
    for (std::int64_t row = block * blocks_.rows; row < end; row += kDotRows) {
      const std::int64_t stop = std::min(end, row + kDotRows);
      if (arguments_.activation != ops::Activation::kNone) {
        float* dz = whole_ != nullptr ? whole_ + row * dy.cols : few_ + block * kDotRows * dy.cols;
        HWY_DYNAMIC_DISPATCH(differentiate_rows)(arguments_, mask_, row, stop, dz, sums);
        use(row, stop - row, dz, dy.cols);
      } else {
        if (sums != nullptr) HWY_DYNAMIC_DISPATCH(add_rows)(dy, row, stop, sums);
        use(row, stop - row, dy.row<float>(row), dy.stride);
      }
    }
  }

  /// Call it after all blocks.
  void reduce_bias() const {
    if (sums_ != nullptr) reduce_partials(sums_, blocks_.count, arguments_.dy.cols, arguments_.dbias);
  }

 private:
  const LinearBackwardArguments& arguments_;
  const DropoutMask& mask_;
  Blocks blocks_;
  float* whole_;
  float* few_ = nullptr;
  float* sums_ = nullptr;
};

/// Computes both products together, from a dz that never exists as a whole.
void backward_in_pairs(Context& context, const LinearBackwardArguments& arguments, const DropoutMask& mask) {
  using Order = DotFactor::Order;
  const Tensor& x = arguments.x;
  const Tensor& weight = arguments.weight;
  const std::int64_t rows = arguments.dy.rows;
  const Tensor& dx = arguments.dx.value;
  const Tensor& dweight = arguments.dweight.value;
  const auto factor = [&](bool wanted, Order order, std::int64_t lines, std::int64_t depth) {
    return DotFactor(context, order, wanted ? lines : 0, depth);
  };
  const DotFactor dz_lines = factor(!dx.empty(), Order::kLeftLines, rows, weight.rows);
  const DotFactor weight_depths = factor(!dx.empty(), Order::kRight, weight.cols, weight.rows);
  const DotFactor dz_depths = factor(!dweight.empty(), Order::kLeftColumns, weight.rows, rows);
  const DotFactor x_depths = factor(!dweight.empty(), Order::kRight, weight.cols, rows);
  const Blocks blocks(rows);
  const Differentiation differentiation(context, arguments, mask, blocks);
  const std::int64_t weight_rows = dot_rows_per_block(weight.cols);
  const std::int64_t weight_blocks = dx.empty() ? 0 : (weight.rows + weight_rows - 1) / weight_rows;
  context.executor().for_each(blocks.count + weight_blocks, [&](std::int64_t block) {
    if (block >= blocks.count) {
      const std::int64_t first = (block - blocks.count) * weight_rows;
      weight_depths.put_depths(weight.row<float>(first), weight.stride, first,
                               std::min(weight_rows, weight.rows - first));
      return;
    }
    differentiation.for_each(block, [&](std::int64_t first, std::int64_t count, const float* dz, std::int64_t stride) {
      if (!dx.empty()) dz_lines.put_lines(dz, stride, first, count);
      if (dweight.empty()) return;
      dz_depths.put_depths(dz, stride, first, count);
      x_depths.put_depths(x.row<float>(first), x.stride, first, count);
    });
  });
  differentiation.reduce_bias();
  const DotProduct dx_product(dz_lines, weight_depths, dx, arguments.dx.accumulate);
  const DotProduct dweight_product(dz_depths, x_depths, dweight, arguments.dweight.accumulate);
  context.executor().for_each(dx_product.tiles() + dweight_product.tiles(), [&](std::int64_t number) {
    const bool first = number < dx_product.tiles();
    const DotProduct& product = first ? dx_product : dweight_product;
    product.multiply(product.tile(first ? number : number - dx_product.tiles()));
  });
}

/// Computes one product after the other.
void backward_in_turn(Context& context, const LinearBackwardArguments& arguments, const DropoutMask& mask) {
  const auto& [dx, dweight] = std::tie(arguments.dx, arguments.dweight);
  Tensor dz = arguments.dy;
  float* whole = nullptr;
  if (arguments.activation != ops::Activation::kNone) {
    dz = context.arena().allocate(dz.rows, dz.cols, dz.dtype, dz.device);
    whole = dz.as<float>();
  }
  if (whole != nullptr || !arguments.dbias.value.empty()) {
    const Blocks blocks(dz.rows);
    const Differentiation differentiation(context, arguments, mask, blocks, whole);
    context.executor().for_each(blocks.count, [&](std::int64_t block) {
      differentiation.for_each(block, [](std::int64_t, std::int64_t, const float*, std::int64_t) {});
    });
    differentiation.reduce_bias();
  }
  const auto nothing_more = [](const Tile&) {};
  if (!dx.value.empty())
    multiply(context, {dz, false, arguments.weight, false, dx.value, dx.accumulate, arguments.type}, nothing_more);
  if (!dweight.value.empty())
    multiply(context, {dz, true, arguments.x, false, dweight.value, dweight.accumulate, arguments.type}, nothing_more);
}

void backward(Context& context, const LinearBackwardArguments& arguments, const DropoutMask& mask) {
  const tensor::ScratchScope scratch(context.arena());
  if (arguments.type == tensor::ComputeType::kBF16 && has_fast_bf16())
    backward_in_pairs(context, arguments, mask);
  else
    backward_in_turn(context, arguments, mask);
}

}  // namespace

template <>
void kernel(Context& context, const LinearBackwardArguments& arguments) {
  backward(context, arguments, {0, {}});
}

template <>
void kernel(Context& context, const ops::DroppedLinearBackwardArguments& arguments) {
  backward(context, arguments.linear, {arguments.rate, arguments.random});
}

}  // namespace dragoman::backend::cpu
#endif
