#include "checks.h"

namespace dragoman::plugins {
namespace {

/// The change of the states when one target token is replaced: before the position of the token, and from it on.
struct Response {
  Distance before;
  Distance at;
};

Response response_to_target(Subject& subject, const Pair& pair, std::size_t place) {
  Pair changed = pair;
  changed.target[place] = other_token(changed.target[place]);
  const Matrix old_states = decode_whole(subject, {pair});
  const Matrix new_states = decode_whole(subject, {changed});
  const auto row = static_cast<std::int64_t>(place);
  return {distance(new_states.row_range(0, row), old_states.row_range(0, row)),
          distance(new_states.row_range(row, row + 1), old_states.row_range(row, row + 1))};
}

/// The last state must depend on every token of source and history. A change this small does not count.
constexpr double kNoticed = 1e-6;

std::string silent_source_token(Subject& subject, const Pair& pair) {
  const Matrix states = decode_whole(subject, {pair});
  for (std::size_t i = 0; i + 1 < pair.source.size(); ++i) {
    Pair changed = pair;
    changed.source[i] = other_token(changed.source[i]);
    if (distance(decode_whole(subject, {changed}), states).value < kNoticed) return fmt::format("source token {}", i);
  }
  return {};
}

std::string silent_target_token(Subject& subject, const Pair& pair) {
  const Matrix states = decode_whole(subject, {pair});
  for (std::size_t i = 0; i < pair.target.size(); ++i) {
    Pair changed = pair;
    changed.target[i] = other_token(changed.target[i]);
    const Matrix moved = decode_whole(subject, {changed});
    const std::int64_t last = states.rows - 1;
    if (distance(moved.row_range(last, last + 1), states.row_range(last, last + 1)).value < kNoticed)
      return fmt::format("target token {} of {}", i, pair.target.size());
  }
  return {};
}

}  // namespace

Finding check_causality(const Bench& bench) {
  Subject subject = bench.subject();
  Distance before;
  int changes = 0;
  for (const Pair& pair : example_pairs()) {
    for (std::size_t place = 1; place < pair.target.size(); ++place, ++changes)
      before = larger(before, response_to_target(subject, pair, place).before);
  }
  return judge(before, 0, fmt::format("states before each of {} changed target tokens", changes),
               "a state sees tokens that come later: training would learn to copy them");
}

Finding check_dependence(const Bench& bench) {
  Subject subject = bench.subject();
  for (const Pair& pair : example_pairs()) {
    std::string silent = silent_source_token(subject, pair);
    if (silent.empty()) silent = silent_target_token(subject, pair);
    if (!silent.empty())
      return {false,
              fmt::format("the last state does not answer to {}: it is never read, or its influence is lost", silent)};
  }
  return {true, "the states answer to every source token, the last state to every target token"};
}

}  // namespace dragoman::plugins
