#include "kernels.h"
#include "products/finished_product.h"

#include <algorithm>

#include <dragoman/ops/feed_forward.h>

namespace dragoman::backend::cpu {
namespace {

/// Rows of x that are processed together.
constexpr std::int64_t kBlockRows = 256;

const float* data_of(const Tensor& bias) {
  return bias.empty() ? nullptr : bias.as<float>();
}

/// Returns true if sharing the products of few rows among threads is faster than keeping them in one thread's cache.
bool worth_sharing(const Context& context, const Panel& in, std::int64_t rows) {
  return parts_worth_sharing(context.executor(), in, rows) > 1;
}

/// The int8 case. Each weight is a single panel.
class Int8FeedForward {
 public:
  Int8FeedForward(Context& context, const ops::FeedForwardArguments& arguments)
      : context_(context),
        arguments_(arguments),
        in_(panels_of(*arguments.in).panels().front()),
        out_(panels_of(*arguments.out).panels().front()) {}

  void run() {
    const tensor::ScratchScope scratch(context_.arena());
    const std::int64_t rows = arguments_.x.rows;
    const std::int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
    const std::size_t floats =
        std::max(multiply_scratch(in_) + activated_floats(), multiply_scratch(out_)) + kBlockRows;
    auto* products =
        static_cast<float*>(context_.arena().allocate(static_cast<std::size_t>(blocks) * floats * sizeof(float)));
    const std::int64_t room = std::max(kBlockRows, out_.matrix.row_buckets().back()) + kBlockRows;
    const std::int64_t bytes = room * out_.matrix.inputs();
    auto* numbers = static_cast<std::uint8_t*>(context_.arena().allocate(static_cast<std::size_t>(blocks * bytes)));
    core::for_each_range(context_.executor(), rows, kBlockRows, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t block = begin / kBlockRows;
      float* scales = products + static_cast<std::size_t>(block) * floats;
      run_block(begin, end, scales, scales + kBlockRows, numbers + block * bytes);
    });
  }

 private:
  /// The room for activated rows that are quantised when they are complete. Kernels that do not finish their sums leave
  /// them in the scratch memory of the product.
  std::size_t activated_floats() const {
    if (!in_.matrix.finishes()) return 0;
    return static_cast<std::size_t>(std::min(kBlockRows, arguments_.x.rows) * in_.matrix.outputs());
  }

  void run_block(std::int64_t begin, std::int64_t end, float* scales, float* products, std::uint8_t* numbers) const {
    const Tensor& x = arguments_.x;
    const std::int64_t inner = in_.matrix.outputs();
    const FloatRows rows{x.row<float>(begin), x.stride, end - begin, x.cols};
    BiasActivation finish{.bias = data_of(arguments_.in_bias), .activation = arguments_.activation, .cols = inner};
    if (in_.matrix.finishes()) {
      finish.y = products + multiply_scratch(in_);
      finish.y_stride = inner;
      finish.rows = rows.rows;
      multiply_and_finish(in_, rows, finish, products);
      quantize({finish.y, inner, rows.rows, inner}, in_.type, numbers, scales);
    } else {
      multiply_rows(in_, rows, {nullptr, inner}, products,
                    [&](std::int64_t first, std::int64_t count, const ProductRows& product) {
                      finish.x = finish.y = product.data;
                      finish.x_stride = finish.y_stride = product.stride;
                      finish.dequantization = product.dequantization;
                      finish.rows = count;
                      bias_activation_quantize_rows(finish, in_.type, numbers + first * inner, scales + first);
                    });
    }
    const Tensor& y = arguments_.y;
    multiply_and_finish(out_, numbers, scales,
                        {.bias = data_of(arguments_.out_bias),
                         .y = y.row<float>(begin),
                         .y_stride = y.stride,
                         .rows = rows.rows,
                         .cols = y.cols},
                        products);
  }

  Context& context_;
  const ops::FeedForwardArguments& arguments_;
  const Panel& in_;
  const Panel& out_;
};

}  // namespace

template <>
void kernel(Context& context, const ops::FeedForwardArguments& arguments) {
  if (arguments.y.size() == 0) return;
  const bool one_panel_each =
      panels_of(*arguments.in).panels().size() == 1 && panels_of(*arguments.out).panels().size() == 1;
  if (tensor::is_int8(arguments.in->type()) && one_panel_each &&
      !worth_sharing(context, panels_of(*arguments.in).panels().front(), arguments.x.rows))
    return Int8FeedForward(context, arguments).run();
  const tensor::ScratchScope scratch(context.arena());
  const Tensor inner = context.allocate(arguments.x.rows, arguments.in->rows());
  kernel<ops::LinearArguments>(context, {.x = arguments.x,
                                         .weight = {},
                                         .packed = arguments.in,
                                         .bias = arguments.in_bias,
                                         .activation = arguments.activation,
                                         .pre_activation = {},
                                         .y = inner});
  kernel<ops::LinearArguments>(context, {.x = inner,
                                         .weight = {},
                                         .packed = arguments.out,
                                         .bias = arguments.out_bias,
                                         .pre_activation = {},
                                         .y = arguments.y});
}

}  // namespace dragoman::backend::cpu
