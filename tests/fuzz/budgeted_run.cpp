#include "budgeted_run.h"

#include "meter.h"

#include <ctime>

namespace dragoman::fuzz {
namespace {

double processor_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

Cost measure(const Target& target, std::string_view bytes) {
  const AllocationMeter meter;
  const double start = processor_milliseconds();
  const bool accepted = target.exercise(bytes);
  return {.milliseconds = processor_milliseconds() - start, .bytes = meter.peak(), .accepted = accepted};
}

}  // namespace

Cost cost_of(const Target& target, std::string_view bytes) {
  constexpr int kTrials = 3;
  const Budget& budget = target.budget;
  const auto size = static_cast<double>(bytes.size());
  const double milliseconds = slowdown() * (budget.milliseconds + size * budget.microseconds_per_byte * 1e-3);
  Cost cost = measure(target, bytes);
  for (int trial = 1; trial < kTrials && cost.milliseconds > milliseconds; ++trial) cost = measure(target, bytes);
  if (cost.milliseconds > milliseconds)
    throw Fault(fmt::format("{} bytes took {:.0f} ms, more than their budget of {:.0f} ms", bytes.size(),
                            cost.milliseconds, milliseconds));
  if (const std::size_t most = budget.bytes + bytes.size() * budget.bytes_per_byte; cost.bytes > most)
    throw Fault(
        fmt::format("{} bytes took {} bytes of memory, more than their budget of {}", bytes.size(), cost.bytes, most));
  return cost;
}

bool run(const Target& target, std::string_view bytes) {
  return cost_of(target, bytes).accepted;
}

}  // namespace dragoman::fuzz
