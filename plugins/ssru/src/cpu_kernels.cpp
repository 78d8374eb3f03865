#include "kernels.h"

#include <algorithm>
#include <array>

#include <dragoman/core/error.h>

namespace dragoman::ssru {
namespace {

/// Columns that are carried through a sequence together. Their cells fit in registers or the first-level cache.
constexpr std::int64_t kPanel = 64;
using Panel = std::array<float, kPanel>;

/// Calls body(begin row, end row, sequence, first column, number of columns) for each sequence and panel. A block is a
/// sequence, so the work does not depend on the number of threads.
template <class Body>
void for_each_panel(Context& context, const ops::DeviceIndices& offsets, std::int64_t width, Body&& body) {
  context.executor().for_each(offsets.size() - 1, [&](std::int64_t sequence) {
    const std::int64_t begin = offsets[sequence];
    const std::int64_t end = offsets[sequence + 1];
    for (std::int64_t column = 0; column < width; column += kPanel)
      body(begin, end, sequence, column, std::min(kPanel, width - column));
  });
}

void put(float* target, const Panel& values, std::int64_t count, bool accumulate) {
  if (accumulate)
    for (std::int64_t j = 0; j < count; ++j) target[j] += values[static_cast<std::size_t>(j)];
  else
    std::copy_n(values.data(), count, target);
}

void check_f32(const Tensor& tensor) {
  core::require(tensor.dtype == tensor::DType::kF32, core::ErrorCode::kUnsupported,
                "ssru.scan: the CPU kernel takes F32, not {}", tensor::describe(tensor));
}

}  // namespace

void cpu_scan(Context& context, const ScanArguments& arguments) {
  check_f32(arguments.candidates);
  for_each_panel(
      context, arguments.offsets, arguments.candidates.cols,
      [&](std::int64_t begin, std::int64_t end, std::int64_t sequence, std::int64_t column, std::int64_t count) {
        Panel cell{};
        if (!arguments.initial.empty())
          std::copy_n(arguments.initial.row<float>(sequence) + column, count, cell.data());
        for (std::int64_t t = begin; t < end; ++t) {
          const float* z = arguments.candidates.row<float>(t) + column;
          const float* f = arguments.forget.row<float>(t) + column;
          for (std::int64_t j = 0; j < count; ++j) {
            float& c = cell[static_cast<std::size_t>(j)];
            c = f[j] * c + (1 - f[j]) * z[j];
          }
          std::copy_n(cell.data(), count, arguments.cells.row<float>(t) + column);
        }
        if (!arguments.latest.empty()) std::copy_n(cell.data(), count, arguments.latest.row<float>(sequence) + column);
      });
}

void cpu_scan_backward(Context& context, const ScanBackwardArguments& arguments) {
  check_f32(arguments.candidates);
  static constexpr Panel kZeros{};
  for_each_panel(context, arguments.offsets, arguments.candidates.cols,
                 [&](std::int64_t begin, std::int64_t end, std::int64_t, std::int64_t column, std::int64_t count) {
                   Panel carried{};
                   for (std::int64_t t = end - 1; t >= begin; --t) {
                     const float* z = arguments.candidates.row<float>(t) + column;
                     const float* f = arguments.forget.row<float>(t) + column;
                     const float* before = t == begin ? kZeros.data() : arguments.cells.row<float>(t - 1) + column;
                     const float* dy = arguments.dcells.row<float>(t) + column;
                     Panel dz;
                     Panel df;
                     for (std::int64_t j = 0; j < count; ++j) {
                       const auto i = static_cast<std::size_t>(j);
                       const float g = dy[j] + carried[i];
                       dz[i] = g * (1 - f[j]);
                       df[i] = g * (before[j] - z[j]);
                       carried[i] = g * f[j];
                     }
                     if (!arguments.dcandidates.value.empty())
                       put(arguments.dcandidates.value.row<float>(t) + column, dz, count,
                           arguments.dcandidates.accumulate);
                     if (!arguments.dforget.value.empty())
                       put(arguments.dforget.value.row<float>(t) + column, df, count, arguments.dforget.accumulate);
                   }
                 });
}

}  // namespace dragoman::ssru
