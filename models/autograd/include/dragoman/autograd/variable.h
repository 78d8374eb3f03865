#pragma once

#include <cstdint>
#include <limits>

#include <dragoman/tensor/tensor.h>

namespace dragoman::autograd {

using tensor::Tensor;

/// The gradient of one value. `value` is empty until the first write. The first write assigns and later writes
/// accumulate, so gradients are never zero-filled. Gradients of activations are in the context's gradient memory, those
/// of parameters in flat buffers.
struct Gradient {
  Tensor value{};
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool written = false;
  /// True if `value` is in the gradient memory. It is released after the backward pass of the op that computed the
  /// activation.
  bool recycled = false;
  /// If this is a column slice, the gradient of the full tensor and the index of the first column. A slice owns no
  /// memory.
  Gradient* whole = nullptr;
  std::int64_t first_column = 0;
  /// The first record of the pass that may write this gradient, noted by recording(). After the backward pass has run
  /// that record, the gradient is complete.
  std::int64_t first_record = kNoRecord;
  /// True once a reader has taken the value as final. Later writes are errors.
  bool taken = false;

  static constexpr std::int64_t kNoRecord = std::numeric_limits<std::int64_t>::max();
};

/// A value and, if needed, its gradient. Trivially copyable; ops take and return variables. It owns neither: step
/// memory, a ParameterStore or the caller does.
struct Variable {
  Tensor value{};
  Gradient* gradient = nullptr;
  /// `value` rounded to the type of the products that read it, if the op that computed it has rounded it, too; see
  /// ops::allocate_rounded_result(). Otherwise empty.
  Tensor rounded{};
  /// No backward pass reads `value` for the op that computed it, so the op that takes it last may overwrite it.
  bool spare = false;

  bool empty() const noexcept { return value.empty(); }
  bool needs_gradient() const noexcept { return gradient != nullptr; }
};

/// The output of a backward kernel. If `accumulate` is true, the kernel adds to `value`; otherwise it overwrites it.
struct GradientTarget {
  Tensor value{};
  bool accumulate;
};

}  // namespace dragoman::autograd
