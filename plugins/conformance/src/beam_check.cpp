#include "checks.h"

#include <algorithm>
#include <numeric>

#include <dragoman/core/random.h>

namespace dragoman::plugins {
namespace {

constexpr std::uint64_t kTreeSeed = 99;
constexpr int kSteps = 5;
constexpr std::size_t kBeam = 3;

/// One hypothesis of a simulated search: its sentence, the hypothesis of the last step that it continues, and all its
/// tokens.
struct Node {
  std::size_t sentence;
  std::int32_t parent;
  Tokens tokens;
};
using Generation = std::vector<Node>;

Generation roots(const std::vector<Pair>& pairs) {
  Generation generation;
  for (std::size_t s = 0; s < pairs.size(); ++s) generation.push_back({s, -1, {pairs[s].target.front()}});
  return generation;
}

/// Gives each sentence kBeam hypotheses with random parents. So some hypotheses of the last step die and others get
/// several children.
Generation children(const Generation& parents, std::size_t sentences, std::uint64_t step) {
  Generation generation;
  for (std::size_t s = 0; s < sentences; ++s) {
    std::vector<std::int32_t> own;
    for (std::size_t n = 0; n < parents.size(); ++n)
      if (parents[n].sentence == s) own.push_back(static_cast<std::int32_t>(n));
    for (std::size_t k = 0; k < kBeam; ++k) {
      const std::uint64_t draw = s * kBeam + k;
      const std::int32_t parent = own[core::random_below(own.size(), kTreeSeed, step, draw)];
      Node node{s, parent, parents[static_cast<std::size_t>(parent)].tokens};
      node.tokens.push_back(random_token(kTreeSeed + step, draw));
      generation.push_back(std::move(node));
    }
  }
  return generation;
}

std::vector<Generation> made_up_search(const std::vector<Pair>& pairs) {
  std::vector<Generation> search{roots(pairs)};
  for (int step = 1; step < kSteps; ++step)
    search.push_back(children(search.back(), pairs.size(), static_cast<std::uint64_t>(step)));
  return search;
}

/// Returns the row of each hypothesis in a step. With `stream` 0, rows are in the order of the hypotheses.
std::vector<std::uint32_t> row_order(std::size_t count, std::uint64_t stream, std::size_t step) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  if (stream != 0) core::shuffle(order, kTreeSeed, stream * kSteps + step);
  return order;
}

/// Runs the search with the rows of each step in some order. Returns the states in the order of the generations in any
/// case.
std::vector<Matrix> run_search(Subject& subject, const std::vector<Pair>& pairs, const std::vector<Generation>& search,
                               std::uint64_t stream) {
  Stepper stepper(subject);
  std::vector<Tokens> sources;
  for (const Pair& pair : pairs) sources.push_back(pair.source);
  const std::vector<std::int32_t> slots = stepper.admit(sources);
  std::vector<Matrix> states;
  std::vector<std::uint32_t> last_rows;
  for (std::size_t step = 0; step < search.size(); ++step) {
    const Generation& generation = search[step];
    const std::vector<std::uint32_t> rows_of = row_order(generation.size(), stream, step);
    std::vector<nn::RowRef> rows(generation.size());
    std::vector<Tokens> next(generation.size());
    for (std::size_t n = 0; n < generation.size(); ++n) {
      const Node& node = generation[n];
      const std::int32_t parent =
          node.parent < 0 ? -1 : static_cast<std::int32_t>(last_rows[static_cast<std::size_t>(node.parent)]);
      rows[rows_of[n]] = {slots[node.sentence], parent};
      next[rows_of[n]] = {node.tokens.back()};
    }
    const Matrix result = stepper.step(rows, next);
    Matrix& ordered = states.emplace_back();
    for (const std::uint32_t row : rows_of) ordered.append_row(result, row);
    last_rows = rows_of;
  }
  return states;
}

/// Returns the last states of complete passes over the tokens of each hypothesis.
Matrix expected_states(Subject& subject, const std::vector<Pair>& pairs, const Generation& generation) {
  Matrix expected;
  for (const Node& node : generation) {
    const Matrix whole = decode_whole(subject, {{pairs[node.sentence].source, node.tokens}});
    expected.append_row(whole, whole.rows - 1);
  }
  return expected;
}

}  // namespace

Finding check_beam_order(const Bench& bench) {
  Subject subject = bench.subject();
  const std::vector<Pair> pairs = example_pairs();
  const std::vector<Generation> search = made_up_search(pairs);
  const std::vector<Matrix> states = run_search(subject, pairs, search, 0);
  Distance against_whole;
  for (std::size_t step = 0; step < search.size(); ++step)
    against_whole = larger(against_whole, distance(states[step], expected_states(subject, pairs, search[step])));
  if (against_whole.value > tolerance_of(subject.dtype()))
    return judge(against_whole, tolerance_of(subject.dtype()),
                 "hypotheses with changing parents against whole passes over their own tokens",
                 "some state is not taken from the parent's row");

  Subject packed = bench.subject(1, tensor::ComputeType::kF32);
  const std::vector<Matrix> in_order = run_search(packed, pairs, search, 0);
  Distance permuted;
  for (std::uint64_t stream = 1; stream <= 2; ++stream) {
    const std::vector<Matrix> shuffled = run_search(packed, pairs, search, stream);
    for (std::size_t step = 0; step < search.size(); ++step)
      permuted = larger(permuted, distance(shuffled[step], in_order[step]));
  }
  return judge(
      permuted, 0,
      fmt::format("against whole passes {:.3g}; the same search with its rows in another order", against_whole.value),
      "a row's result depends on its place");
}

}  // namespace dragoman::plugins
