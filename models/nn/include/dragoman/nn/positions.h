#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace dragoman::nn {

/// The position encodings of published models. i counts the frequencies, d is the width, b the base.
enum class PositionKind : std::uint8_t {
  kInterleaved,    ///< sin, cos, sin, cos, ... with frequency b^(-2i/d) (Vaswani et al. 2017, sec. 3.5)
  kConcatenated,   ///< all sines, then all cosines, frequency b^(-2i/d) (HF MarianMT)
  kTensor2Tensor,  ///< all sines, then all cosines, frequency b^(-i/(d/2 - 1)) (tensor2tensor, fairseq, Marian)
  kLearned,        ///< a trained table
};

/// All kinds with their names in configurations.
const std::vector<std::pair<std::string_view, PositionKind>>& position_kinds();

/// The base in all known published models.
inline constexpr double kPositionBase = 10000;

/// Returns rows 0 .. count-1 of a sinusoidal encoding, row-major [count, width]. `width` must be even. Thread-safe.
///
///     const auto table = sinusoidal_positions(PositionKind::kInterleaved, /*count=*/512, /*width=*/256);
std::vector<double> sinusoidal_positions(PositionKind kind, std::int64_t count, std::int64_t width,
                                         double base = kPositionBase);

}  // namespace dragoman::nn
