#include "leaky_relu.h"

namespace example {
namespace {

/// Rows are independent, so the result does not depend on the number of threads.
template <class T>
void forward(Context& context, const LeakyReluArguments& a) {
  context.executor().for_each(a.x.rows, [&](std::int64_t i) {
    const T* const x = a.x.row<T>(i);
    T* const y = a.y.row<T>(i);
    for (std::int64_t j = 0; j < a.x.cols; ++j) y[j] = x[j] > 0 ? x[j] : static_cast<T>(a.slope) * x[j];
  });
}

template <class T>
void backward(Context& context, const LeakyReluBackwardArguments& a) {
  context.executor().for_each(a.x.rows, [&](std::int64_t i) {
    const T* const x = a.x.row<T>(i);
    const T* const dy = a.dy.row<T>(i);
    T* const dx = a.dx.value.row<T>(i);
    for (std::int64_t j = 0; j < a.x.cols; ++j) {
      const T gradient = x[j] > 0 ? dy[j] : static_cast<T>(a.slope) * dy[j];
      dx[j] = a.dx.accumulate ? dx[j] + gradient : gradient;
    }
  });
}

}  // namespace

void cpu_leaky_relu(Context& context, const LeakyReluArguments& arguments) {
  forward<float>(context, arguments);
}
void cpu_leaky_relu_backward(Context& context, const LeakyReluBackwardArguments& arguments) {
  backward<float>(context, arguments);
}
void reference_leaky_relu(Context& context, const LeakyReluArguments& arguments) {
  forward<double>(context, arguments);
}
void reference_leaky_relu_backward(Context& context, const LeakyReluBackwardArguments& arguments) {
  backward<double>(context, arguments);
}

}  // namespace example
