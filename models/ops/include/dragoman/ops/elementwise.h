#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y = a + b.
struct AddArguments {
  Tensor a;
  Tensor b;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const AddArguments&)> kAdd{"add"};

/// y = factor * x, or y += factor * x. x and y have equal shapes; strides may differ. With factor 0 and without
/// accumulation, y becomes 0 even if x contains NaN. This is how memory is cleared.
struct ScaleArguments {
  Tensor x;
  double factor = 1;
  Tensor y;
  bool accumulate = false;
};
inline constexpr KernelKey<void(Context&, const ScaleArguments&)> kScale{"scale"};

/// y = a * b element by element, or y += a * b.
struct MultiplyArguments {
  Tensor a;
  Tensor b;
  Tensor y;
  bool accumulate = false;
};
inline constexpr KernelKey<void(Context&, const MultiplyArguments&)> kMultiply{"multiply"};

/// y = x + row, with row [1, cols] added to every row.
struct AddRowArguments {
  Tensor x;
  Tensor row;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const AddRowArguments&)> kAddRow{"add_row"};

/// y [1, cols] = the sum of the rows of x, or y += the sum. The order of summation depends on the shape alone.
struct ColumnSumArguments {
  Tensor x;
  Tensor y;
  bool accumulate = false;
};
inline constexpr KernelKey<void(Context&, const ColumnSumArguments&)> kColumnSum{"column_sum"};

/// y = activation(x), element by element.
struct ActivationArguments {
  Tensor x;
  Activation activation = Activation::kNone;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const ActivationArguments&)> kActivation{"activation"};

/// dx = dy * activation'(x), or dx += ... `x` is the input and `y` the output of the forward pass. kGelu, kGeluTanh and
/// kSwish need `x`; kSigmoid and kTanh need `y`; kRelu accepts `y` alone (x empty). dx may be the same memory as dy.
struct ActivationBackwardArguments {
  Tensor x;
  Tensor y;
  Activation activation = Activation::kNone;
  Tensor dy;
  Tensor dx;
  bool accumulate = false;
};
inline constexpr KernelKey<void(Context&, const ActivationBackwardArguments&)> kActivationBackward{
    "activation_backward"};

/// Returns a + b. Error{kInvalidArgument} unless the shapes are equal.
///
///     Variable mean_of(Context& context, const Variable& a, const Variable& b) {
///       return scale(context, add(context, a, b), 0.5);
///     }
///
/// Like every op, it returns a result in step memory and belongs to the context's thread.
Variable add(Context& context, const Variable& a, const Variable& b);
/// Returns a * b, element by element. Error{kInvalidArgument} unless the shapes are equal.
Variable multiply(Context& context, const Variable& a, const Variable& b);
/// Returns factor * x.
Variable scale(Context& context, const Variable& x, double factor);
/// Returns x [rows, cols] plus row [1, cols].
Variable add_row(Context& context, const Variable& x, const Variable& row);
/// Returns activation(x), element by element; x itself for kNone.
Variable activate(Context& context, const Variable& x, Activation activation);

/// Adds `from` to the gradient of `to`; the first write assigns. For backward passes.
void accumulate_gradient(Context& context, const Variable& to, const Tensor& from);

}  // namespace dragoman::ops
