#include "kernels.h"

#include <dragoman/core/error.h>

namespace dragoman::ssru {
namespace {

double& at(const Tensor& tensor, std::int64_t row, std::int64_t col) {
  return tensor.row<double>(row)[col];
}

void add(const GradientTarget& target, std::int64_t row, std::int64_t col, double value) {
  if (target.value.empty()) return;
  double& place = at(target.value, row, col);
  place = target.accumulate ? place + value : value;
}

void check_f64(const Tensor& tensor) {
  core::require(tensor.dtype == tensor::DType::kF64, core::ErrorCode::kUnsupported,
                "ssru.scan: the reference kernel takes F64, not {}", tensor::describe(tensor));
}

}  // namespace

void reference_scan(Context&, const ScanArguments& arguments) {
  check_f64(arguments.candidates);
  for (std::int64_t b = 0; b + 1 < arguments.offsets.size(); ++b) {
    for (std::int64_t j = 0; j < arguments.candidates.cols; ++j) {
      double cell = arguments.initial.empty() ? 0 : at(arguments.initial, b, j);
      for (std::int64_t t = arguments.offsets[b]; t < arguments.offsets[b + 1]; ++t) {
        const double f = at(arguments.forget, t, j);
        cell = f * cell + (1 - f) * at(arguments.candidates, t, j);
        at(arguments.cells, t, j) = cell;
      }
      if (!arguments.latest.empty()) at(arguments.latest, b, j) = cell;
    }
  }
}

void reference_scan_backward(Context&, const ScanBackwardArguments& arguments) {
  check_f64(arguments.candidates);
  for (std::int64_t b = 0; b + 1 < arguments.offsets.size(); ++b) {
    const std::int64_t begin = arguments.offsets[b];
    const std::int64_t end = arguments.offsets[b + 1];
    for (std::int64_t j = 0; j < arguments.candidates.cols; ++j) {
      double carried = 0;
      for (std::int64_t t = end - 1; t >= begin; --t) {
        const double g = at(arguments.dcells, t, j) + carried;
        const double f = at(arguments.forget, t, j);
        const double before = t == begin ? 0 : at(arguments.cells, t - 1, j);
        add(arguments.dcandidates, t, j, g * (1 - f));
        add(arguments.dforget, t, j, g * (before - at(arguments.candidates, t, j)));
        carried = g * f;
      }
    }
  }
}

}  // namespace dragoman::ssru
