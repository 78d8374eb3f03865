#include "padded_request.h"

#include <algorithm>
#include <span>

namespace dragoman::decoding {
namespace {

/// Copies `values` to `longer`, followed by `count` times `value`.
template <class T>
std::span<const T> extended(std::span<const T> values, std::size_t count, const T& value, std::vector<T>& longer) {
  longer.assign(values.begin(), values.end());
  longer.resize(values.size() + count, value);
  return longer;
}

}  // namespace

const StepRequest& PaddedRequest::assign(const StepRequest& request, std::int64_t padding, std::int32_t start,
                                         std::int64_t rows_before) {
  padded_ = request;
  if (const std::size_t known = request.log_probabilities.size(); !request.chosen.empty())
    padded_.log_probabilities =
        extended(request.log_probabilities, std::max(known, static_cast<std::size_t>(rows_before)) - known, 0.0,
                 log_probabilities_);
  if (padding == 0) return padded_;
  const auto count = static_cast<std::size_t>(padding);
  padded_.rows = extended(request.rows, count, {.slot = request.rows.front().slot}, rows_);
  offsets_.assign(request.next.offsets.begin(), request.next.offsets.end());
  for (std::size_t i = 0; i < count; ++i) offsets_.push_back(offsets_.back() + 1);
  padded_.next = {extended(request.next.tokens, count, start, tokens_), offsets_};
  if (!request.temperatures.empty()) padded_.temperatures = extended(request.temperatures, count, 1.0, temperatures_);
  if (!request.noise.empty()) padded_.noise = extended(request.noise, count, {}, noise_);
  if (!request.shortlist_of_row.empty())
    padded_.shortlist_of_row =
        extended(request.shortlist_of_row, count, request.shortlist_of_row.front(), shortlist_of_row_);
  return padded_;
}

}  // namespace dragoman::decoding
