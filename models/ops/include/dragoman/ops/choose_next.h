#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// A step of searches, chosen where its candidates are, so that the next step can begin before the host has looked at
/// them. For each of `choices`: among the first `candidates` candidates of its rows, those of the largest
/// sums[row] + log probability, in double precision; equal sums go to the earlier row, then to the candidate of better
/// rank. Neither `end` nor a log probability that is not above -infinity is chosen. The i-th best becomes entry
/// first_next + i of `tokens`, and its row that of `parents`; where there are none left, these are `end` and first_row.
/// Entries of no choice stay as they are. `candidates` and `log_probabilities` are [R, k] as project_top_k() leaves
/// them, without noise; `tokens` and `parents` are [1, N] I32; no choice has more than `most_rows` rows.
struct ChooseNextArguments {
  Tensor candidates;
  Tensor log_probabilities;
  DeviceArray<double> sums;
  DeviceArray<NextRows> choices;
  std::int32_t most_rows = 0;
  std::int32_t end = 0;
  Tensor tokens;
  Tensor parents;
};
inline constexpr KernelKey<void(Context&, const ChooseNextArguments&)> kChooseNext{"choose_next"};

/// What is chosen from: candidates of the last step, where they stay until this one's are written, and the host's part,
/// which must outlive the step. `sums` has an entry for each row of the candidates.
struct NextChoices {
  Tensor candidates{};
  Tensor log_probabilities{};
  std::span<const double> sums = {};
  std::span<const NextRows> choices = {};
};

/// Writes into what was uploaded for this step: what belongs to its preparation. Error{kInvalidArgument} on rows that
/// there are not.
void choose_next(Context& context, const NextChoices& from, std::int32_t end, const DeviceIndices& tokens,
                 const DeviceIndices& parents);

}  // namespace dragoman::ops
