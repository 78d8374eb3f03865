#include "kernels.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include <dragoman/ops/choose_next.h>

namespace dragoman::backend::reference {
namespace {

struct Choice {
  double total;
  std::int32_t row;
  std::int32_t rank;
};

bool precedes(const Choice& a, const Choice& b) {
  return std::tuple(-a.total, a.row, a.rank) < std::tuple(-b.total, b.row, b.rank);
}

}  // namespace

template <>
void kernel(Context&, const ops::ChooseNextArguments& arguments) {
  auto* const tokens = arguments.tokens.as<std::int32_t>();
  auto* const parents = arguments.parents.as<std::int32_t>();
  for (const ops::NextRows& next : arguments.choices.span()) {
    std::vector<Choice> choices;
    for (std::int32_t row = next.first_row; row < next.first_row + next.rows; ++row)
      for (std::int32_t rank = 0; rank < next.candidates; ++rank) {
        const double log_probability = tensor::element(arguments.log_probabilities, row, rank);
        if (log_probability > -std::numeric_limits<double>::infinity() &&
            arguments.candidates.row<std::int32_t>(row)[rank] != arguments.end)
          choices.push_back({arguments.sums[row] + log_probability, row, rank});
      }
    std::ranges::sort(choices, precedes);
    for (std::int32_t i = 0; i < next.next; ++i) {
      const bool any = static_cast<std::size_t>(i) < choices.size();
      const Choice choice = any ? choices[static_cast<std::size_t>(i)] : Choice{0, next.first_row, 0};
      tokens[next.first_next + i] =
          any ? arguments.candidates.row<std::int32_t>(choice.row)[choice.rank] : arguments.end;
      parents[next.first_next + i] = choice.row;
    }
  }
}

}  // namespace dragoman::backend::reference
