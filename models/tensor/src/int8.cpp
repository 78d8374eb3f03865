#include "dragoman/tensor/int8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dragoman::tensor {

float largest_magnitude(std::span<const float> row) {
  float largest = 0;
  for (const float value : row) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

float quantize_row(std::span<const float> row, int range, std::span<std::int8_t> numbers) {
  const float largest = largest_magnitude(row);
  if (!(largest >= kLeastMaximum)) {
    std::fill(numbers.begin(), numbers.end(), std::int8_t{0});
    return std::isnan(largest) ? largest : 0;
  }
  const float factor = static_cast<float>(range) / largest;
  std::transform(row.begin(), row.end(), numbers.begin(),
                 [factor](float value) { return static_cast<std::int8_t>(std::nearbyint(value * factor)); });
  return largest / static_cast<float>(range);
}

}  // namespace dragoman::tensor
