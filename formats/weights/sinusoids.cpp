#include "weights/sinusoids.h"

#include <algorithm>
#include <cmath>

namespace dragoman::imports {

std::optional<SinusoidKind> recognise_sinusoids(std::span<const float> table, std::int64_t width, double tolerance) {
  constexpr std::int64_t kOffsets = 3;  // 2 is fairseq's
  const std::int64_t rows = static_cast<std::int64_t>(table.size()) / width;
  // Comparing the first rows avoids computing whole tables.
  for (const bool whole : {false, true}) {
    const std::int64_t compared = whole ? rows : std::min<std::int64_t>(rows, 4);
    std::optional<SinusoidKind> found;
    for (const auto kind :
         {nn::PositionKind::kInterleaved, nn::PositionKind::kConcatenated, nn::PositionKind::kTensor2Tensor}) {
      const std::vector<double> sinusoids = nn::sinusoidal_positions(kind, compared + kOffsets, width);
      for (std::int64_t offset = 0; offset < kOffsets && !found; ++offset) {
        const auto begin = sinusoids.begin() + offset * width;
        if (std::equal(begin, begin + compared * width, table.begin(),
                       [&](double a, float b) { return std::abs(a - b) <= tolerance; }))
          found = SinusoidKind{kind, offset};
      }
    }
    if (!found || whole) return found;
  }
  return std::nullopt;
}

}  // namespace dragoman::imports
