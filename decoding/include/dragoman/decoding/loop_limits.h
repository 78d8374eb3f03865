#pragma once

#include <cstddef>
#include <cstdint>

namespace dragoman::decoding {

/// How much a DecodingLoop works on at a time. Results do not depend on it.
struct LoopLimits {
  /// Hypotheses in flight; at least one sentence always is. 0: 64 of searches with one hypothesis, 96 of others.
  std::int64_t maximum_rows = 0;
  /// Source tokens encoded together; at least one sentence always is. 0: 256.
  std::int64_t maximum_encoder_tokens = 0;
  /// Admission stops where keys and values would pass this; 0: no limit. At least one sentence is always admitted.
  std::size_t maximum_state_bytes = 0;
};

}  // namespace dragoman::decoding
