#pragma once

#include <cstdint>
#include <span>

namespace dragoman::tensor {

/// A batch of B token sequences without padding, stored end to end. Sequence b is tokens[offsets[b] .. offsets[b+1]).
/// `offsets` has B + 1 entries, starts at 0 and never decreases. Non-owning.
///
///     const std::vector<std::int32_t> tokens{5, 7, 2, 9, 2};
///     const std::vector<std::int32_t> offsets{0, 3, 5};
///     const RaggedTokens batch{tokens, offsets};
///     check_ragged(batch, /*vocabulary=*/10);
///     std::cout << batch.batch() << ' ' << batch.length(0);     // 2 3
struct RaggedTokens {
  std::span<const std::int32_t> tokens;
  std::span<const std::int32_t> offsets;

  std::int64_t batch() const noexcept { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t total() const noexcept { return static_cast<std::int64_t>(tokens.size()); }
  std::int32_t length(std::int64_t b) const noexcept { return offsets[b + 1] - offsets[b]; }
  std::span<const std::int32_t> sequence(std::int64_t b) const noexcept {
    return tokens.subspan(static_cast<std::size_t>(offsets[b]), static_cast<std::size_t>(length(b)));
  }
};

/// Throws Error{kInvalidArgument} unless the offsets are valid as described above and every token is in [0,
/// vocabulary).
void check_ragged(const RaggedTokens& batch, std::int64_t vocabulary);

}  // namespace dragoman::tensor
