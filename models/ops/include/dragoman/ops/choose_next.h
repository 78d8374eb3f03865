#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Chooses the next rows of a search on the device, so that the next step can begin before the host has read the
/// candidates.
///
/// Each entry of `choices` ranks the first `candidates` candidates of its rows by sums[row] + log probability, in
/// double precision. Equal sums go to the earlier row, then to the candidate of better rank. Neither `end` nor a log
/// probability of -infinity is chosen. NaN is not chosen either.
///
/// The i-th best candidate becomes entry first_next + i of `tokens`, and its row becomes that entry of `parents`. If no
/// candidates are left, the entries are `end` and first_row. Entries that belong to no choice keep their values.
///
/// `candidates` and `log_probabilities` are [R, k], as project_top_k() returns them without noise. `tokens` and
/// `parents` are [1, N] I32. No choice has more than `most_rows` rows.
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

/// The input of a choice: the candidates of the previous step, which stay valid until the candidates of this step are
/// written, and data of the host, which must outlive the step. `sums` has one entry for each row of the candidates.
struct NextChoices {
  Tensor candidates{};
  Tensor log_probabilities{};
  std::span<const double> sums = {};
  std::span<const NextRows> choices = {};
};

/// Writes the choice into arrays that were uploaded for this step. It is part of the preparation of a step.
/// Error{kInvalidArgument} for rows that do not exist.
void choose_next(Context& context, const NextChoices& from, std::int32_t end, const DeviceIndices& tokens,
                 const DeviceIndices& parents);

}  // namespace dragoman::ops
