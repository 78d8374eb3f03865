#include "kernels.h"

#include <limits>

#include <dragoman/ops/choose_next.h>

// Searches on the CPU choose on the host. This kernel serves callers that use the CPU as if it were a separate
// device.
namespace dragoman::backend::cpu {
namespace {

/// The rows of one choice. Each row has its candidates in order, so the best of all is the first candidate of some row.
class Rows {
 public:
  Rows(const ops::ChooseNextArguments& arguments, const ops::NextRows& next, std::int32_t* firsts)
      : arguments_(arguments), next_(next), firsts_(firsts) {
    for (std::int32_t i = 0; i < next.rows; ++i) firsts_[i] = possible(i, 0);
  }

  /// Returns the row with the best remaining candidate, counted from the first row; -1 if there is none.
  std::int32_t best() const {
    std::int32_t found = -1;
    double most = 0;
    for (std::int32_t i = 0; i < next_.rows; ++i) {
      if (firsts_[i] == next_.candidates) continue;
      const double total = arguments_.sums[next_.first_row + i] + log_probability(i, firsts_[i]);
      if (found >= 0 && total <= most) continue;
      found = i;
      most = total;
    }
    return found;
  }
  std::int32_t take(std::int32_t i) {
    const std::int32_t taken = token(i, firsts_[i]);
    firsts_[i] = possible(i, firsts_[i] + 1);
    return taken;
  }

 private:
  std::int32_t token(std::int32_t i, std::int32_t rank) const {
    return arguments_.candidates.row<std::int32_t>(next_.first_row + i)[rank];
  }
  double log_probability(std::int32_t i, std::int32_t rank) const {
    return tensor::element(arguments_.log_probabilities, next_.first_row + i, rank);
  }
  std::int32_t possible(std::int32_t i, std::int32_t rank) const {
    while (rank < next_.candidates &&
           (token(i, rank) == arguments_.end || !(log_probability(i, rank) > -std::numeric_limits<double>::infinity())))
      ++rank;
    return rank;
  }

  const ops::ChooseNextArguments& arguments_;
  const ops::NextRows& next_;
  std::int32_t* firsts_;  ///< index of each row's first remaining candidate
};

}  // namespace

template <>
void kernel(Context& context, const ops::ChooseNextArguments& arguments) {
  const tensor::ScratchScope scope(context.arena());
  auto* const firsts = static_cast<std::int32_t*>(
      context.arena().allocate(static_cast<std::size_t>(arguments.most_rows) * sizeof(std::int32_t)));
  for (const ops::NextRows& next : arguments.choices.span()) {
    Rows rows(arguments, next, firsts);
    for (std::int32_t n = next.first_next; n < next.first_next + next.next; ++n) {
      const std::int32_t best = rows.best();
      arguments.tokens.as<std::int32_t>()[n] = best < 0 ? arguments.end : rows.take(best);
      arguments.parents.as<std::int32_t>()[n] = best < 0 ? next.first_row : next.first_row + best;
    }
  }
}

}  // namespace dragoman::backend::cpu
