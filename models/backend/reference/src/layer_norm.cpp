#include "kernels.h"
#include "matrix.h"

#include <cmath>

#include <dragoman/ops/layer_norm.h>

namespace dragoman::backend::reference {
namespace {

double mean_of_row(const Matrix& x, std::int64_t i) {
  double sum = 0;
  for (std::int64_t j = 0; j < x.cols(); ++j) sum += x(i, j);
  return sum / static_cast<double>(x.cols());
}

double variance_of_row(const Matrix& x, std::int64_t i, double mean) {
  double sum = 0;
  for (std::int64_t j = 0; j < x.cols(); ++j) sum += (x(i, j) - mean) * (x(i, j) - mean);
  return sum / static_cast<double>(x.cols());
}

/// The means over a row that the gradient of x needs: of g = dy * gain, and of g times the normalised x.
struct RowAverages {
  double g = 0;
  double g_normalised = 0;
};

}  // namespace

template <>
void kernel(Context&, const ops::LayerNormArguments& arguments) {
  const Matrix x(arguments.x, "layer_norm");
  const Matrix gain(arguments.gain, "layer_norm");
  const Matrix bias(arguments.bias, "layer_norm");
  const Matrix y(arguments.y, "layer_norm");
  const Matrix mean_out(arguments.mean, "layer_norm");
  const Matrix inverse_deviation_out(arguments.inverse_deviation, "layer_norm");
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    const double mean = arguments.centred ? mean_of_row(x, i) : 0;
    const double inverse_deviation = 1 / std::sqrt(variance_of_row(x, i, mean) + arguments.epsilon);
    for (std::int64_t j = 0; j < x.cols(); ++j)
      y(i, j) = (x(i, j) - mean) * inverse_deviation * gain(0, j) + (arguments.centred ? bias(0, j) : 0);
    if (mean_out) mean_out(i, 0) = mean;
    if (inverse_deviation_out) inverse_deviation_out(i, 0) = inverse_deviation;
  }
}

template <>
void kernel(Context&, const ops::LayerNormBackwardArguments& arguments) {
  const Matrix x(arguments.x, "layer_norm_backward");
  const Matrix gain(arguments.gain, "layer_norm_backward");
  const Matrix mean(arguments.mean, "layer_norm_backward");
  const Matrix inverse_deviation(arguments.inverse_deviation, "layer_norm_backward");
  const Matrix dy(arguments.dy, "layer_norm_backward");
  const Matrix dx(arguments.dx.value, "layer_norm_backward");
  const Matrix dgain = ready_to_add(arguments.dgain, "layer_norm_backward");
  const Matrix dbias = ready_to_add(arguments.dbias, "layer_norm_backward");
  const auto width = static_cast<double>(x.cols());
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    const auto normalised = [&](std::int64_t j) {
      return (x(i, j) - (mean ? mean(i, 0) : 0)) * inverse_deviation(i, 0);
    };
    RowAverages average;
    for (std::int64_t j = 0; j < x.cols(); ++j) {
      if (mean) average.g += dy(i, j) * gain(0, j) / width;
      average.g_normalised += dy(i, j) * gain(0, j) * normalised(j) / width;
    }
    for (std::int64_t j = 0; j < x.cols(); ++j) {
      if (dgain) dgain(0, j) += dy(i, j) * normalised(j);
      if (dbias) dbias(0, j) += dy(i, j);
      const double centred = dy(i, j) * gain(0, j) - average.g - normalised(j) * average.g_normalised;
      if (dx) dx.put(i, j, inverse_deviation(i, 0) * centred, arguments.dx.accumulate);
    }
  }
}

}  // namespace dragoman::backend::reference
