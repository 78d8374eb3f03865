#include "fault.h"

#include "kinds/kinds.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace dragoman::faults {

std::uint64_t always(const Equipment&, const Scenario&, const Profile&) {
  return 1;
}

std::uint64_t if_it_writes(const Equipment&, const Scenario& scenario, const Profile&) {
  return scenario.outputs.empty() ? 0 : 1;
}

std::uint64_t if_it_writes_much(const Equipment&, const Scenario& scenario, const Profile&) {
  return scenario.outputs.empty() ? 0 : kMany;
}

std::uint64_t count_calls(const Profile& profile, const std::vector<CallClass>& classes) {
  std::uint64_t count = 0;
  if (profile.calls.empty()) return 0;
  for (const CallClass call_class : classes) count += profile.calls[static_cast<std::size_t>(call_class)];
  return count;
}

std::string ordinal(std::uint64_t number) {
  return fmt::format("no. {}", number);
}

void note_crashes(const Draw& draw) {
  if (draw.equipment.hooks.empty()) return;
  draw.fault.plan.environment.push_back("LD_PRELOAD=" + draw.equipment.hooks);
  draw.fault.plan.environment.push_back(fmt::format("DRAGOMAN_FAULT_CRASH={}", (draw.folder / kCrashNote).string()));
}

std::uint64_t Draw::number(std::uint64_t most) const {
  if (most <= 1) return 1;
  if (coin()) return 1 + random() % most;
  const double logarithm = share() * std::log(static_cast<double>(most) + 1);
  return std::min(most, static_cast<std::uint64_t>(std::exp(logarithm)));
}

double Draw::share() const {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

std::vector<FaultKind> make_fault_kinds(const Equipment& equipment) {
  std::vector<FaultKind> kinds = stream_kinds();
  for (auto part : {call_kinds(equipment), limit_kinds(equipment), input_kinds(), world_kinds(equipment)})
    kinds.insert(kinds.end(), part.begin(), part.end());
  return kinds;
}

}  // namespace dragoman::faults
