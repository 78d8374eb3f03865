#include "kernels.h"
#include "matrix.h"
#include "weight_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <dragoman/ops/project_shortlist_top_k.h>

namespace dragoman::backend::reference {
namespace {

void forbid_others(const ops::ProjectTopKArguments& arguments, std::int64_t row, std::vector<double>& logits) {
  if (arguments.shortlist_of_row.empty()) return;
  const ops::ShortlistRange range = arguments.shortlist_of_row[row];
  if (range.begin == range.end) return;
  std::vector<bool> is_in_shortlist(logits.size());
  for (std::int32_t i = range.begin; i < range.end; ++i)
    is_in_shortlist[static_cast<std::size_t>(arguments.shortlist[i])] = true;
  for (std::size_t v = 0; v < logits.size(); ++v)
    if (!is_in_shortlist[v]) logits[v] = -std::numeric_limits<double>::infinity();
}

void apply_edits(ops::DeviceArray<ops::LogitEdit> edits, std::int64_t row, std::vector<double>& logits) {
  for (const ops::LogitEdit& edit : edits.span()) {
    if (edit.row != row) continue;
    double& logit = logits[static_cast<std::size_t>(edit.token)];
    logit = ops::edited(logit, edit);
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

/// Turns the logits of row r into its results: applies masks, edits and temperature, and selects.
void choose(const ops::ProjectTopKArguments& arguments, std::int64_t r, std::vector<double>& row) {
  const Matrix log_probabilities(arguments.log_probabilities, "project_top_k");
  const Matrix scored(arguments.scored_log_probabilities, "project_top_k");
  forbid_others(arguments, r, row);
  apply_edits(arguments.edits, r, row);
  if (!arguments.temperatures.empty())
    for (double& logit : row) logit /= arguments.temperatures[r];
  log_softmax_in_place(row);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(arguments.scored.size()); ++i)
    if (arguments.scored[i].row == r) scored(i, 0) = row[static_cast<std::size_t>(arguments.scored[i].token)];
  const std::vector<std::int32_t> order = best_first(ranks(arguments, r, row));
  for (std::int64_t i = 0; i < arguments.k; ++i) {
    const std::int32_t token = order[static_cast<std::size_t>(i)];
    arguments.tokens.row<std::int32_t>(r)[i] = token;
    log_probabilities(r, i) = row[static_cast<std::size_t>(token)];
  }
}

/// The token and the bias of each column. The reference does not need more.
class ShortlistTokens final : public ops::ShortlistOutputs {
 public:
  explicit ShortlistTokens(std::int64_t columns)
      : tokens_(static_cast<std::size_t>(columns), -1), bias_(tokens_.size()) {}

  std::int64_t columns() const override { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t panel() const override { return 1; }
  void put(const ops::ShortlistSource& at, double bias) {
    tokens_.at(static_cast<std::size_t>(at.column)) = at.token;
    bias_.at(static_cast<std::size_t>(at.column)) = bias;
  }
  std::int32_t token(std::int64_t column) const { return tokens_.at(static_cast<std::size_t>(column)); }
  double bias(std::int64_t column) const { return bias_.at(static_cast<std::size_t>(column)); }

 private:
  std::vector<std::int32_t> tokens_;
  std::vector<double> bias_;
};

}  // namespace

template <>
void kernel(Context&, const ops::ProjectTopKArguments& arguments) {
  const Matrix hidden(arguments.hidden, "project_top_k");
  WeightReader weight = arguments.packed != nullptr ? WeightReader(arguments.packed, "project_top_k")
                                                    : WeightReader(arguments.weight, arguments.type, "project_top_k");
  const Matrix bias(arguments.bias, "project_top_k");
  std::vector<double> row(static_cast<std::size_t>(weight.rows()));
  for (std::int64_t r = 0; r < hidden.rows(); ++r) {
    weight.take_row(&hidden(r, 0));
    for (std::int64_t v = 0; v < weight.rows(); ++v)
      row[static_cast<std::size_t>(v)] = weight.product(v) + (bias ? bias(0, v) : 0);
    choose(arguments, r, row);
  }
}

std::unique_ptr<ops::ShortlistOutputs> kernel(Context&, const PackedWeight&, std::int64_t columns) {
  return std::make_unique<ShortlistTokens>(columns);
}

template <>
void kernel(Context&, const ops::GatherOutputsArguments& arguments) {
  const Matrix bias(arguments.bias, "gather_outputs");
  auto& outputs = dynamic_cast<ShortlistTokens&>(*arguments.outputs);
  for (const ops::ShortlistSource& at : arguments.columns.span()) outputs.put(at, bias ? bias(0, at.token) : 0);
}

template <>
void kernel(Context&, const ops::ProjectShortlistTopKArguments& arguments) {
  const ops::ProjectTopKArguments& top_k = arguments.top_k;
  const auto& outputs = dynamic_cast<const ShortlistTokens&>(*arguments.outputs);
  const Matrix hidden(top_k.hidden, "project_shortlist_top_k");
  WeightReader weight(top_k.packed, "project_shortlist_top_k");
  std::vector<double> row(static_cast<std::size_t>(weight.rows()));
  for (std::int64_t r = 0; r < hidden.rows(); ++r) {
    // NaN reveals reads of tokens that are not in the shortlist.
    std::ranges::fill(row, std::numeric_limits<double>::quiet_NaN());
    weight.take_row(&hidden(r, 0));
    const ops::ShortlistRange range = top_k.shortlist_of_row[r];
    for (std::int32_t i = range.begin; i < range.end; ++i) {
      const std::int32_t column = arguments.shortlist_columns[i].column;
      core::require(column < arguments.columns, core::ErrorCode::kInvalidArgument,
                    "project_shortlist_top_k: a list has column {} of {}", column, arguments.columns);
      row[static_cast<std::size_t>(top_k.shortlist[range.begin + arguments.shortlist_columns[i].place])] =
          weight.product(outputs.token(column)) + outputs.bias(column);
    }
    choose(top_k, r, row);
  }
}

}  // namespace dragoman::backend::reference
