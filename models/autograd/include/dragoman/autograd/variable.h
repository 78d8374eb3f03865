#pragma once

#include <dragoman/tensor/tensor.h>

namespace dragoman::autograd {

using tensor::Tensor;

/// The gradient of one value. `value` is empty until the first write; the first write assigns, later ones accumulate,
/// so gradients are never zero-filled. Lives in the context's gradient memory for activations, in flat buffers for
/// parameters.
struct Gradient {
  Tensor value{};
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool written = false;
  bool recycled = false;  ///< `value` is from the gradient memory, and goes back there once the op that made it is done
  /// Of columns of another value: its gradient, and the first of them. Then this one has no memory of its own.
  Gradient* whole = nullptr;
  std::int64_t first_column = 0;
};

/// A value and, where one is wanted, its gradient. Trivially copyable; ops take and return it.
struct Variable {
  Tensor value{};
  Gradient* gradient = nullptr;

  bool empty() const noexcept { return value.empty(); }
  bool needs_gradient() const noexcept { return gradient != nullptr; }
};

/// Where a backward kernel writes: it adds to `value` if `accumulate`, else overwrites it.
struct GradientTarget {
  Tensor value{};
  bool accumulate;
};

}  // namespace dragoman::autograd
