#include "checks.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::plugins {
namespace {

constexpr std::string_view kBatchFault =
    "something is computed over more than one sentence, or a kernel's result depends on the number of rows";

/// Returns the results of processing each pair alone, one after the other.
template <class Run>
Matrix one_by_one(const std::vector<Pair>& pairs, Run run) {
  Matrix joined;
  for (const Pair& pair : pairs) {
    const Matrix part = run(std::vector<Pair>{pair});
    for (std::int64_t row = 0; row < part.rows; ++row) joined.append_row(part, row);
  }
  return joined;
}

/// Compares all pairs together, and together in reverse order, with each pair alone. The bits must be equal.
template <class Run>
Distance against_alone(std::vector<Pair> pairs, Run run) {
  Distance found = distance(run(pairs), one_by_one(pairs, run));
  std::ranges::reverse(pairs);
  return larger(found, distance(run(pairs), one_by_one(pairs, run)));
}

/// A sentence that is admitted to a pool and released while others come and go.
struct Visit {
  std::int32_t slot = -1;
  std::int32_t row = -1;
  std::size_t fed = 0;
  Matrix states;
};

/// Steps all admitted visits with remaining tokens by one token.
void step_visits(Stepper& stepper, const std::vector<Pair>& pairs, std::vector<Visit>& visits) {
  std::vector<nn::RowRef> rows;
  std::vector<Tokens> next;
  std::vector<Visit*> members;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    Visit& visit = visits[p];
    if (visit.slot < 0 || visit.fed >= pairs[p].target.size()) continue;
    rows.push_back({visit.slot, visit.row});
    next.push_back({pairs[p].target[visit.fed++]});
    visit.row = static_cast<std::int32_t>(members.size());
    members.push_back(&visit);
  }
  const Matrix result = stepper.step(rows, next);
  for (std::size_t m = 0; m < members.size(); ++m) members[m]->states.append_row(result, static_cast<std::int64_t>(m));
}

}  // namespace

std::vector<tensor::ComputeType> Bench::compute_types() const {
  std::vector<tensor::ComputeType> types;
  for (const tensor::ComputeChoice compute : {tensor::ComputeChoice::kF32, tensor::ComputeChoice::kBF16,
                                              tensor::ComputeChoice::kF16, tensor::ComputeChoice::kI8}) {
    try {
      types.push_back(runtime.inference_type(device, compute));
    } catch (const core::Error& error) {
      if (error.code() != core::ErrorCode::kUnsupported) throw;
    }
  }
  return types;
}

namespace {

Finding check_batch_invariance_in(const Bench& bench, tensor::ComputeType type) {
  Subject subject = bench.subject(1, type);
  const std::vector<Pair> pairs = example_pairs();
  const Distance encoder = against_alone(pairs, [&](const std::vector<Pair>& some) { return encode(subject, some); });
  const Distance whole =
      against_alone(pairs, [&](const std::vector<Pair>& some) { return decode_whole(subject, some); });
  const Distance steps =
      against_alone(pairs, [&](const std::vector<Pair>& some) { return decode_stepwise(subject, some); });
  const std::string what = fmt::format(
      "{}: encoder {:.3g}, whole decoder {:.3g}, steps {:.3g} between a sentence alone and among others; the most",
      name_of(type), encoder.value, whole.value, steps.value);
  return judge(larger(larger(encoder, whole), steps), 0, what, kBatchFault);
}

Finding check_refill_in(const Bench& bench, tensor::ComputeType type) {
  Subject subject = bench.subject(1, type);
  const std::vector<Pair> pairs = example_pairs();
  Stepper stepper(subject);
  std::vector<Visit> visits(pairs.size());
  // The long target begins alone, a short one joins and leaves, and a third takes its slot.
  const auto admit = [&](std::size_t p) { visits[p].slot = stepper.admit(pairs[p].source); };
  const auto release = [&](std::size_t p) { stepper.release(std::exchange(visits[p].slot, -1)); };
  admit(1);
  step_visits(stepper, pairs, visits);
  admit(2);
  for (int i = 0; i < 2; ++i) step_visits(stepper, pairs, visits);
  release(2);
  admit(0);
  for (int i = 0; i < 4; ++i) step_visits(stepper, pairs, visits);

  Distance found;
  for (std::size_t p = 0; p < pairs.size(); ++p)
    found = larger(found, distance(visits[p].states, decode_stepwise(subject, {pairs[p]})));
  return judge(found, 0,
               fmt::format("{}: sentences that come and go in a running pool against each alone", name_of(type)),
               "state is kept outside of the DecoderState, or belongs to a row number instead of a sentence");
}

/// Returns the finding for the first compute type that fails; otherwise the finding for all types.
Finding in_all_types(const Bench& bench, Finding (*check)(const Bench&, tensor::ComputeType)) {
  Finding all{true, {}};
  for (const tensor::ComputeType type : bench.compute_types()) {
    const Finding finding = check(bench, type);
    if (!finding.passed) return finding;
    all.detail += (all.detail.empty() ? "" : "; ") + finding.detail;
  }
  return all;
}

}  // namespace

Finding check_batch_invariance(const Bench& bench) {
  return in_all_types(bench, check_batch_invariance_in);
}

Finding check_refill(const Bench& bench) {
  return in_all_types(bench, check_refill_in);
}

}  // namespace dragoman::plugins
