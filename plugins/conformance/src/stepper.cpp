#include "stepper.h"

#include <algorithm>

namespace dragoman::plugins {

std::vector<std::int32_t> Stepper::admit(const std::vector<Tokens>& sources) {
  const Ragged joined(sources);
  std::vector<std::int32_t> slots(sources.size());
  tensor::Context& context = subject_->context();
  context.step([&] {
    const nn::Encoding encoding = subject_->model().encode(context, joined.view());
    const std::vector<nn::KeyValue> memories = subject_->model().memories(context, encoding);
    state_.admit(context, joined.offsets, slots);
    state_.store_memories(context, memories);
  });
  return slots;
}

Matrix Stepper::step(const std::vector<nn::RowRef>& rows, const std::vector<Tokens>& next) {
  next_ = Ragged(next);
  state_.set_rows(rows);
  tensor::Context& context = subject_->context();
  Matrix states;
  context.step([&] { states = read(context, subject_->model().decode(context, next_.view(), state_).states.value); });
  return states;
}

namespace {

/// One step of all pairs with remaining tokens.
struct Step {
  std::vector<nn::RowRef> rows;
  std::vector<Tokens> next;
  std::vector<std::size_t> members;  ///< the pair of each row
};

/// Returns the step that feeds tokens [done, done + count) of each target. `row_of` is each pair's row in the last step
/// on entry, and in this step on return.
Step next_step(const std::vector<Pair>& pairs, const std::vector<std::int32_t>& slots, std::size_t done,
               std::size_t count, std::vector<std::int32_t>& row_of) {
  Step step;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const Tokens& target = pairs[p].target;
    if (done >= target.size()) continue;
    step.rows.push_back({slots[p], row_of[p]});
    const auto begin = target.begin() + static_cast<std::ptrdiff_t>(done);
    step.next.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(std::min(count, target.size() - done)));
    row_of[p] = static_cast<std::int32_t>(step.members.size());
    step.members.push_back(p);
  }
  return step;
}

void collect(const Step& step, const Matrix& result, std::vector<Matrix>& states) {
  std::int64_t row = 0;
  for (std::size_t m = 0; m < step.members.size(); ++m)
    for (std::size_t i = 0; i < step.next[m].size(); ++i) states[step.members[m]].append_row(result, row++);
}

}  // namespace

Matrix decode_stepwise(Subject& subject, const std::vector<Pair>& pairs, std::size_t prefix) {
  Stepper stepper(subject);
  std::vector<Tokens> sources;
  for (const Pair& pair : pairs) sources.push_back(pair.source);
  const std::vector<std::int32_t> slots = stepper.admit(sources);

  std::vector<Matrix> states(pairs.size());
  std::vector<std::int32_t> row_of(pairs.size(), -1);
  std::size_t done = 0;
  std::size_t count = prefix;
  for (Step step = next_step(pairs, slots, done, count, row_of); !step.rows.empty();
       step = next_step(pairs, slots, done, count, row_of)) {
    collect(step, stepper.step(step.rows, step.next), states);
    done += count;
    count = 1;
  }
  Matrix joined;
  for (const Matrix& part : states)
    for (std::int64_t row = 0; row < part.rows; ++row) joined.append_row(part, row);
  return joined;
}

}  // namespace dragoman::plugins
