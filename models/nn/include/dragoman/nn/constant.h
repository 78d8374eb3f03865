#pragma once

#include <functional>
#include <vector>

#include <dragoman/core/lazy.h>
#include <dragoman/tensor/context.h>

namespace dragoman::nn {

/// A computed table that is neither trained nor saved, such as sinusoidal positions. It is created on first use, in the
/// memory and float type of the calling context. There is one copy, because a model lives on one device. Thread-safe.
///
///     Variable scaled(Context& context, const Variable& x) {            // parameters.h
///       static const Constant halves(1, 1, [] { return std::vector<double>{0.5}; });
///       return ops::multiply(context, x, Variable{halves.on(context)});
///     }
class Constant {
 public:
  /// `values()` returns the table row by row, [rows, cols].
  Constant(std::int64_t rows, std::int64_t cols, std::function<std::vector<double>()> values)
      : rows_(rows), cols_(cols), values_(std::move(values)) {}
  /// Returns the table [rows, cols] in the memory of the context's device. It lives as long as this object.
  tensor::Tensor on(const tensor::Context& context) const;

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  std::function<std::vector<double>()> values_;
  struct Table {
    tensor::Buffer buffer;
    tensor::Tensor tensor;
  };
  Table make(const tensor::Context& context) const;
  core::Lazy<Table> table_;
};

}  // namespace dragoman::nn
