#pragma once

#include <cstddef>
#include <cstdint>

namespace dragoman::decoding {

/// Limits of the work that a DecodingLoop has in flight. Results do not depend on them.
struct LoopLimits {
  /// Hypotheses in flight, but always at least one sentence. 0: 64 for searches with one hypothesis, 96 for others.
  std::int64_t maximum_rows = 0;
  /// Source tokens that are encoded together, but always at least one sentence. 0: 256.
  std::int64_t maximum_encoder_tokens = 0;
  /// Admission stops before keys and values exceed this number of bytes, but at least one sentence is always admitted.
  /// 0: no limit.
  std::size_t maximum_state_bytes = 0;
};

}  // namespace dragoman::decoding
