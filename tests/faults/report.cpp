#include "report.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace dragoman::faults {

Report::Report(std::string program, std::uint64_t seed, std::uint64_t planned)
    : program_(std::move(program)), seed_(seed), planned_(planned) {}

void Report::add(const Trial& trial, const Verdict& verdict) {
  const bool passed = verdict.problems.empty();
  for (Count* count : {&all_, &counts_[{trial.kind->name, trial.scenario->command}]}) {
    ++count->tried;
    count->passed += passed ? 1 : 0;
  }
  Signals& signals = signals_[trial.scenario->name];
  signals.interrupted += verdict.signal == Verdict::Signal::kInterrupted ? 1 : 0;
  signals.before += verdict.signal == Verdict::Signal::kBefore ? 1 : 0;
  signals.too_late += verdict.signal == Verdict::Signal::kTooLate ? 1 : 0;
  crashes_of_others_ += verdict.crashed_in.empty() ? 0 : 1;
  if (!passed) print_failure(trial, verdict);
  constexpr std::uint64_t kReportEvery = 100;
  if (all_.tried % kReportEvery == 0) fmt::print("{} of {} faults tried, {} failed\n", all_.tried, planned_, failed());
  std::fflush(stdout);
}

void Report::print_failure(const Trial& trial, const Verdict& verdict) const {
  fmt::print("FAILED {}/{} {}\n", trial.scenario->name, trial.kind->name, verdict.description);
  for (const std::string& problem : verdict.problems) fmt::print("    {}\n", problem);
  fmt::print("    again: {} --only {}/{} --seed {} --round {}\n", program_, trial.scenario->name, trial.kind->name,
             seed_, trial.round);
}

std::string Report::cell(const Count& count) {
  if (count.tried == 0) return "";
  return count.passed == count.tried ? fmt::format("{}", count.tried) : fmt::format("{}/{}", count.passed, count.tried);
}

void Report::print_table(const std::vector<FaultKind>& kinds, const std::vector<Scenario>& scenarios) const {
  std::vector<std::string> commands;
  for (const Scenario& scenario : scenarios)
    if (std::ranges::find(commands, scenario.command) == commands.end()) commands.push_back(scenario.command);
  std::string head = "| fault |";
  std::string rule = "|---|";
  for (const std::string& command : commands) {
    head += fmt::format(" {} |", command);
    rule += "---|";
  }
  fmt::print("\n{} all |\n{}---|\n", head, rule);
  for (const FaultKind& kind : kinds) {
    Count total;
    std::string line = fmt::format("| {} |", kind.name);
    for (const std::string& command : commands) {
      const auto place = counts_.find({kind.name, command});
      const Count count = place == counts_.end() ? Count{} : place->second;
      total.tried += count.tried;
      total.passed += count.passed;
      line += fmt::format(" {} |", cell(count));
    }
    if (total.tried > 0) fmt::print("{} {} |\n", line, cell(total));
  }
  fmt::print("\n{} faults tried, {} passed, {} failed; seed {}\n", all_.tried, all_.passed, failed(), seed_);
  if (crashes_of_others_ > 0)
    fmt::print("In {} of them memory ended in other people's code, which crashed; nothing complete was lost.\n",
               crashes_of_others_);
}

void Report::print_signals(const std::vector<Scenario>& scenarios) const {
  fmt::print("\n| signals to | interrupted | before it began | too late |\n|---|---|---|---|\n");
  for (const Scenario& scenario : scenarios) {
    const auto place = signals_.find(scenario.name);
    if (place == signals_.end() || place->second.all() == 0) continue;
    const Signals& signals = place->second;
    fmt::print("| {} | {} | {} | {} |\n", scenario.name, signals.interrupted, signals.before, signals.too_late);
  }
}

}  // namespace dragoman::faults
