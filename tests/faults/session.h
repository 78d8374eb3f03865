#pragma once

#include "fault.h"
#include "oracle.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dragoman::faults {

/// One try: a kind of fault in a scenario, with everything random drawn from the seed and the number of the round.
struct Trial {
  const Scenario* scenario = nullptr;
  const Profile* profile = nullptr;
  const FaultKind* kind = nullptr;
  std::uint64_t round = 0;
};

struct Verdict {
  std::string description;
  std::vector<std::string> problems;  ///< empty: passed
  std::string crashed_in = {};        ///< the library of other people in which it crashed, which is no problem of ours
  /// What a signal of the fault met.
  enum class Signal : std::uint8_t {
    kNone,         ///< there was none
    kBefore,       ///< the program before its command began
    kInterrupted,  ///< the command, which ended for it
    kTooLate,      ///< the end: the task was done all the same
  };
  Signal signal = Signal::kNone;
};

/// Tries it in a folder of its own, judges what happened, and, if the task was not done, runs it again.
Verdict attempt(const Equipment& equipment, const Trial& trial, std::uint64_t seed);

}  // namespace dragoman::faults
