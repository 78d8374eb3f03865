#include "dragoman/nn/positions.h"

#include <cmath>

#include <dragoman/core/error.h>

namespace dragoman::nn {
namespace {

double frequency(PositionKind kind, std::int64_t i, std::int64_t width, double base) {
  const double exponent = kind == PositionKind::kTensor2Tensor
                              ? static_cast<double>(i) / std::max(1.0, static_cast<double>(width) / 2 - 1)
                              : 2 * static_cast<double>(i) / static_cast<double>(width);
  return std::pow(base, -exponent);
}

}  // namespace

const std::vector<std::pair<std::string_view, PositionKind>>& position_kinds() {
  static const std::vector<std::pair<std::string_view, PositionKind>> kinds = {
      {"sinusoidal-interleaved", PositionKind::kInterleaved},
      {"sinusoidal-concatenated", PositionKind::kConcatenated},
      {"sinusoidal-tensor2tensor", PositionKind::kTensor2Tensor},
      {"learned", PositionKind::kLearned},
  };
  return kinds;
}

std::vector<double> sinusoidal_positions(PositionKind kind, std::int64_t count, std::int64_t width, double base) {
  core::require(width % 2 == 0, core::ErrorCode::kInvalidArgument, "sinusoidal positions need an even width, not {}",
                width);
  core::require(kind != PositionKind::kLearned, core::ErrorCode::kInvalidArgument,
                "learned positions are no sinusoids");
  std::vector<double> table(static_cast<std::size_t>(count * width));
  const std::int64_t half = width / 2;
  for (std::int64_t position = 0; position < count; ++position) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * frequency(kind, i, width, base);
      const std::int64_t sine = kind == PositionKind::kInterleaved ? 2 * i : i;
      const std::int64_t cosine = kind == PositionKind::kInterleaved ? 2 * i + 1 : half + i;
      table[static_cast<std::size_t>(position * width + sine)] = std::sin(angle);
      table[static_cast<std::size_t>(position * width + cosine)] = std::cos(angle);
    }
  }
  return table;
}

}  // namespace dragoman::nn
