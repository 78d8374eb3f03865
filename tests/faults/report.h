#pragma once

#include "session.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dragoman::faults {

/// Counts what was tried and passed by command and kind of fault, and prints what failed as it happens.
class Report {
 public:
  Report(std::string program, std::uint64_t seed, std::uint64_t planned);

  void add(const Trial& trial, const Verdict& verdict);
  /// A Markdown table of kinds by commands: the number tried, or passed/tried where some failed.
  void print_table(const std::vector<FaultKind>& kinds, const std::vector<Scenario>& scenarios) const;
  /// How many signals interrupted each command, met it before it began, and came too late.
  void print_signals(const std::vector<Scenario>& scenarios) const;
  std::uint64_t tried() const noexcept { return all_.tried; }
  std::uint64_t failed() const noexcept { return all_.tried - all_.passed; }

 private:
  struct Count {
    std::uint64_t tried = 0;
    std::uint64_t passed = 0;
  };
  struct Signals {
    std::uint64_t interrupted = 0;
    std::uint64_t before = 0;
    std::uint64_t too_late = 0;
    std::uint64_t all() const { return interrupted + before + too_late; }
  };
  static std::string cell(const Count& count);
  void print_failure(const Trial& trial, const Verdict& verdict) const;

  std::string program_;
  std::uint64_t seed_;
  std::uint64_t planned_;
  Count all_;
  std::uint64_t crashes_of_others_ = 0;
  std::map<std::pair<std::string, std::string>, Count> counts_;  // by kind and command
  std::map<std::string, Signals> signals_;                       // by command
};

}  // namespace dragoman::faults
