#include "dragoman/ops/project_top_k.h"

#include "check.h"
#include "dragoman/ops/linear.h"
#include "dragoman/ops/project_shortlist_top_k.h"
#include "dragoman/ops/softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::ops {
namespace {

/// Consecutive equal ranges, as hypotheses of one sentence have, are checked once.
void check_allowed(const TopKOptions& options, std::int64_t rows, std::int64_t vocabulary) {
  using core::ErrorCode;
  const std::span ranges = options.shortlist_of_row;
  if (!ranges.empty() && static_cast<std::int64_t>(ranges.size()) != rows)
    core::fail(ErrorCode::kInvalidArgument, "project_top_k: allowed tokens for {} rows but there are {}", ranges.size(),
               rows);
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    const ShortlistRange& range = ranges[r];
    if (r > 0 && range == ranges[r - 1]) continue;
    if (range.begin < 0 || range.begin > range.end || range.end > static_cast<std::int64_t>(options.shortlist.size()))
      core::fail(ErrorCode::kInvalidArgument, "project_top_k: row {} allows [{}, {}) of {} tokens", r, range.begin,
                 range.end, options.shortlist.size());
    std::int32_t before = -1;
    for (std::int32_t i = range.begin; i < range.end; ++i) {
      const std::int32_t token = options.shortlist[static_cast<std::size_t>(i)];
      if (token <= before || token >= vocabulary)
        core::fail(ErrorCode::kInvalidArgument,
                   "project_top_k: row {} allows token {} behind {}; they must rise, within a vocabulary of {}", r,
                   token, before, vocabulary);
      before = token;
    }
  }
}

void check(const TopKOptions& options, std::int64_t rows, std::int64_t vocabulary) {
  using core::ErrorCode;
  core::require(options.k >= 1 && options.k <= vocabulary, ErrorCode::kInvalidArgument,
                "project_top_k: {} candidates asked for out of a vocabulary of {}", options.k, vocabulary);
  core::require(options.temperatures.empty() || static_cast<std::int64_t>(options.temperatures.size()) == rows,
                ErrorCode::kInvalidArgument, "project_top_k: temperatures for {} rows but there are {}",
                options.temperatures.size(), rows);
  for (const double temperature : options.temperatures)
    core::require(temperature > 0, ErrorCode::kInvalidArgument,
                  "project_top_k: the temperature must be above 0 but is {}", temperature);
  core::require(options.noise.empty() || static_cast<std::int64_t>(options.noise.size()) == rows,
                ErrorCode::kInvalidArgument, "project_top_k: noise for {} rows but there are {}", options.noise.size(),
                rows);
  for (const LogitEdit& edit : options.edits)
    core::require(edit.row >= 0 && edit.row < rows && edit.token >= 0 && edit.token < vocabulary,
                  ErrorCode::kInvalidArgument, "project_top_k: an edit of row {} and token {} is outside of [{}, {}]",
                  edit.row, edit.token, rows, vocabulary);
  for (const ScoredToken& scored : options.scored)
    core::require(scored.row >= 0 && scored.row < rows && scored.token >= 0 && scored.token < vocabulary,
                  ErrorCode::kInvalidArgument, "project_top_k: token {} is wanted in row {}, outside of [{}, {}]",
                  scored.token, scored.row, rows, vocabulary);
  check_allowed(options, rows, vocabulary);
}

/// Uploads the entries of all shortlists. Their number is part of a recorded call, so on a recording device it is
/// rounded up. Entries beyond the ranges are unused.
template <class Entry>
DeviceArray<Entry> upload_lists(Context& context, std::span<const Entry> entries) {
  if (!context.records() || entries.empty()) return context.upload(entries);
  std::vector<Entry> filled(entries.begin(), entries.end());
  filled.resize(std::bit_ceil(filled.size()));
  return context.upload_copy(std::span<const Entry>(filled));
}

/// Uploads edits or scored tokens. Their number is part of a recorded call, so on a recording device it is rounded up.
/// The additional entries name a row that does not exist.
template <class Entry>
DeviceArray<Entry> upload_in_buckets(Context& context, std::span<const Entry> entries) {
  if (!context.records() || entries.empty()) return context.upload(entries);
  std::vector<Entry> filled(entries.begin(), entries.end());
  filled.resize(std::bit_ceil(filled.size()), {.row = std::numeric_limits<std::int32_t>::max()});
  return context.upload_copy(std::span<const Entry>(filled));
}

/// On a recording device, a recorded call always reads temperatures, so steps without temperatures upload ones.
DeviceArray<double> upload_temperatures(Context& context, std::span<const double> temperatures, std::int64_t rows) {
  if (!context.records() || !temperatures.empty()) return context.upload(temperatures);
  const auto count = static_cast<std::size_t>(rows);
  auto* ones = static_cast<double*>(context.host_arena().allocate(count * sizeof(double)));
  std::fill_n(ones, count, 1.0);
  return context.upload(std::span<const double>(ones, count));
}

TopK allocate_result(Context& context, std::int64_t rows, std::int64_t k, std::size_t scored, const TopK& into = {}) {
  TopK result = into;
  if (result.tokens.empty()) {
    result.tokens = context.arena().allocate(rows, k, tensor::DType::kI32, context.device());
    result.log_probabilities = context.allocate(rows, k);
  }
  if (scored > 0) result.scored_log_probabilities = context.allocate(static_cast<std::int64_t>(scored), 1);
  return result;
}

ProjectTopKArguments arguments_of(const Context& context, const Tensor& hidden, const Projection& projection,
                                  const UploadedTopKOptions& options, const TopK& result) {
  return {.hidden = hidden,
          .weight = projection.weight.value.value,
          .packed = projection.weight.packed,
          .bias = projection.bias.value,
          .k = options.host.k,
          .temperatures = options.temperatures,
          .edits = options.edits,
          .noise = options.noise,
          .shortlist = options.shortlist,
          .shortlist_of_row = options.shortlist_of_row,
          .tokens = result.tokens,
          .log_probabilities = result.log_probabilities,
          .scored = options.scored,
          .scored_log_probabilities = result.scored_log_probabilities,
          .type = autograd::training_compute_type(context)};
}

void forbid_others(const Tensor& logits, std::int64_t row, std::span<const std::int32_t> shortlist) {
  auto next = shortlist.begin();
  for (std::int64_t token = 0; token < logits.cols && !shortlist.empty(); ++token) {
    const bool is_in_shortlist = next != shortlist.end() && *next == token;
    if (is_in_shortlist)
      ++next;
    else
      tensor::set_element(logits, row, token, -std::numeric_limits<double>::infinity());
  }
}

/// Edits come before temperatures, as in the kernels.
void edit_and_temper(Context& context, const Tensor& logits, const TopKOptions& options) {
  if (options.edits.empty() && options.temperatures.empty() && options.shortlist_of_row.empty()) return;
  const auto view = tensor::HostView::of(context.memory(), logits);
  for (std::size_t r = 0; r < options.shortlist_of_row.size(); ++r) {
    const ShortlistRange& range = options.shortlist_of_row[r];
    forbid_others(view.tensor(), static_cast<std::int64_t>(r),
                  options.shortlist.subspan(static_cast<std::size_t>(range.begin),
                                            static_cast<std::size_t>(range.end - range.begin)));
  }
  for (const LogitEdit& edit : options.edits) {
    const double logit = tensor::element(view.tensor(), edit.row, edit.token);
    tensor::set_element(view.tensor(), edit.row, edit.token, edited(logit, edit));
  }
  for (std::size_t i = 0; i < options.temperatures.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    for (std::int64_t token = 0; token < logits.cols; ++token)
      tensor::set_element(view.tensor(), row, token,
                          tensor::element(view.tensor(), row, token) / options.temperatures[i]);
  }
  view.store();
}

void select_row(const Tensor& log_probabilities, std::int64_t row, const TopKOptions& options, const TopK& result) {
  const std::int64_t vocabulary = log_probabilities.cols;
  std::vector<double> ranking(static_cast<std::size_t>(vocabulary));
  for (std::int64_t token = 0; token < vocabulary; ++token) {
    const RowNoise* row_noise = options.noise.empty() ? nullptr : &options.noise[static_cast<std::size_t>(row)];
    const double noise = row_noise == nullptr || !row_noise->drawn ? 0 : gumbel_noise(*row_noise, vocabulary, token);
    ranking[static_cast<std::size_t>(token)] = tensor::element(log_probabilities, row, token) + noise;
  }
  std::vector<std::int32_t> order(static_cast<std::size_t>(vocabulary));
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + options.k, order.end(), [&](std::int32_t a, std::int32_t b) {
    const double x = ranking[static_cast<std::size_t>(a)];
    const double y = ranking[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  });
  for (std::int64_t i = 0; i < options.k; ++i) {
    const std::int32_t token = order[static_cast<std::size_t>(i)];
    result.tokens.row<std::int32_t>(row)[i] = token;
    tensor::set_element(result.log_probabilities, row, i, tensor::element(log_probabilities, row, token));
  }
}

}  // namespace

double gumbel_noise(const RowNoise& noise, std::int64_t vocabulary, std::int64_t token) {
  const auto index = noise.step * static_cast<std::uint64_t>(vocabulary) + static_cast<std::uint64_t>(token);
  // 1 - u lies in (0, 1]; the smallest float above 0 keeps -log finite at u = 0.
  const double uniform = std::max(1 - core::random_uniform(noise.seed, noise.stream, index), 0x1p-54);
  return -std::log(std::max(-std::log(uniform), 0x1p-60));
}

UploadedTopKOptions upload(Context& context, const TopKOptions& options, std::int64_t rows, std::int64_t vocabulary) {
  check(options, rows, vocabulary);
  return {options,
          upload_temperatures(context, options.temperatures, rows),
          upload_in_buckets(context, options.edits),
          context.upload(options.noise),
          upload_in_buckets(context, options.scored),
          upload_lists(context, options.shortlist),
          context.upload(options.shortlist_of_row)};
}

TopK project_top_k(Context& context, const Tensor& hidden, const Projection& projection,
                   const UploadedTopKOptions& options, const TopK& into) {
  auto* kernel = context.kernels().find(kProjectTopK);
  if (kernel == nullptr) return project_top_k_composite(context, hidden, projection, options.host);
  if (projection.weight.packed == nullptr)
    require_computable(projection.weight.value.value, hidden.dtype, "project_top_k");
  const TopK result = allocate_result(context, hidden.rows, options.host.k, options.scored.size(), into);
  kernel(context, arguments_of(context, hidden, projection, options, result));
  return result;
}

TopK project_top_k(Context& context, const Tensor& hidden, const Projection& projection, const TopKOptions& options) {
  return project_top_k(context, hidden, projection, upload(context, options, hidden.rows, projection.vocabulary()));
}

DeviceArray<ShortlistColumn> upload(Context& context, std::span<const ShortlistColumn> shortlist_columns) {
  return upload_lists(context, shortlist_columns);
}

TopK project_shortlist_top_k(Context& context, const Tensor& hidden, const Projection& projection,
                             const UploadedTopKOptions& options, const Listing& listing, const TopK& into) {
  core::require(projection.weight.packed != nullptr && listing.outputs != nullptr &&
                    options.shortlist_of_row.size() == hidden.rows &&
                    listing.shortlist_columns.size() == options.shortlist.size() &&
                    listing.columns <= listing.outputs->columns() && listing.columns % listing.outputs->panel() == 0,
                core::ErrorCode::kInvalidArgument,
                "project_shortlist_top_k: {} rows with {} lists, {} of {} tokens gathered in {} columns", hidden.rows,
                options.shortlist_of_row.size(), listing.shortlist_columns.size(), options.shortlist.size(),
                listing.columns);
  const TopK result = allocate_result(context, hidden.rows, options.host.k, options.scored.size(), into);
  context.kernels().get(kProjectShortlistTopK)(context, {arguments_of(context, hidden, projection, options, result),
                                                         listing.outputs, listing.columns, listing.shortlist_columns});
  return result;
}

TopK project_top_k_composite(Context& context, const Tensor& hidden, const Projection& projection,
                             const TopKOptions& options) {
  check(options, hidden.rows, projection.vocabulary());
  const Variable logits =
      linear(context, {hidden, nullptr}, {{projection.weight.value.value, nullptr}, projection.weight.packed},
             {projection.bias.value, nullptr});
  edit_and_temper(context, logits.value, options);
  const Variable log_probabilities = log_softmax(context, logits);
  const TopK result = allocate_result(context, hidden.rows, options.k, options.scored.size());
  const auto values = tensor::HostView::of(context.memory(), log_probabilities.value);
  const auto tokens = tensor::HostView::to_be_written(context.memory(), result.tokens);
  const auto best = tensor::HostView::to_be_written(context.memory(), result.log_probabilities);
  for (std::int64_t row = 0; row < hidden.rows; ++row)
    select_row(values.tensor(), row, options, {tokens.tensor(), best.tensor()});
  tokens.store();
  best.store();
  if (options.scored.empty()) return result;
  const auto scored = tensor::HostView::to_be_written(context.memory(), result.scored_log_probabilities);
  for (std::size_t i = 0; i < options.scored.size(); ++i)
    tensor::set_element(scored.tensor(), static_cast<std::int64_t>(i), 0,
                        tensor::element(values.tensor(), options.scored[i].row, options.scored[i].token));
  scored.store();
  return result;
}

}  // namespace dragoman::ops
