#include "kernels.h"
#include "matrix.h"
#include "weight_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <dragoman/ops/project_top_k.h>

namespace dragoman::backend::reference {
namespace {

void forbid_others(const ops::ProjectTopKArguments& arguments, std::int64_t row, std::vector<double>& logits) {
  if (arguments.allowed_of_row.empty()) return;
  const ops::AllowedRange range = arguments.allowed_of_row[row];
  if (range.begin == range.end) return;
  std::vector<bool> is_allowed(logits.size());
  for (std::int32_t i = range.begin; i < range.end; ++i)
    is_allowed[static_cast<std::size_t>(arguments.allowed[i])] = true;
  for (std::size_t v = 0; v < logits.size(); ++v)
    if (!is_allowed[v]) logits[v] = -std::numeric_limits<double>::infinity();
}

void apply_edits(ops::DeviceArray<ops::LogitEdit> edits, std::int64_t row, std::vector<double>& logits) {
  for (const ops::LogitEdit& edit : edits.span()) {
    if (edit.row != row) continue;
    double& logit = logits[static_cast<std::size_t>(edit.token)];
    const double penalty = edit.penalty;
    logit = logit * (logit > 0 ? 1 / penalty : penalty) + edit.bias;
  }
}

std::vector<double> ranks(const ops::ProjectTopKArguments& arguments, std::int64_t row,
                          const std::vector<double>& log_probabilities) {
  std::vector<double> result = log_probabilities;
  const auto vocabulary = static_cast<std::int64_t>(result.size());
  for (std::int64_t v = 0; v < vocabulary; ++v) {
    double& rank = result[static_cast<std::size_t>(v)];
    if (!arguments.noise.empty() && arguments.noise[row].drawn)
      rank += ops::gumbel_noise(arguments.noise[row], vocabulary, v);
    if (std::isnan(rank)) rank = -std::numeric_limits<double>::infinity();
  }
  return result;
}

std::vector<std::int32_t> best_first(const std::vector<double>& ranks) {
  std::vector<std::int32_t> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return ranks[static_cast<std::size_t>(a)] > ranks[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace

template <>
void kernel(Context&, const ops::ProjectTopKArguments& arguments) {
  const Matrix hidden(arguments.hidden, "project_top_k");
  WeightReader weight = arguments.packed != nullptr ? WeightReader(arguments.packed, "project_top_k")
                                                    : WeightReader(arguments.weight, arguments.type, "project_top_k");
  const Matrix bias(arguments.bias, "project_top_k");
  const Matrix log_probabilities(arguments.log_probabilities, "project_top_k");
  const Matrix wanted(arguments.wanted_log_probabilities, "project_top_k");
  std::vector<double> row(static_cast<std::size_t>(weight.rows()));
  for (std::int64_t r = 0; r < hidden.rows(); ++r) {
    weight.take_row(&hidden(r, 0));
    for (std::int64_t v = 0; v < weight.rows(); ++v)
      row[static_cast<std::size_t>(v)] = weight.product(v) + (bias ? bias(0, v) : 0);
    forbid_others(arguments, r, row);
    apply_edits(arguments.edits, r, row);
    if (!arguments.temperatures.empty())
      for (double& logit : row) logit /= arguments.temperatures[r];
    log_softmax_in_place(row);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(arguments.wanted.size()); ++i)
      if (arguments.wanted[i].row == r) wanted(i, 0) = row[static_cast<std::size_t>(arguments.wanted[i].token)];
    const std::vector<std::int32_t> order = best_first(ranks(arguments, r, row));
    for (std::int64_t i = 0; i < arguments.k; ++i) {
      const std::int32_t token = order[static_cast<std::size_t>(i)];
      arguments.tokens.row<std::int32_t>(r)[i] = token;
      log_probabilities(r, i) = row[static_cast<std::size_t>(token)];
    }
  }
}

}  // namespace dragoman::backend::reference
