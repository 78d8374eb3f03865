#pragma once

#include "process.h"
#include "scenario.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::faults {

/// How much slower than undisturbed a program may be, beyond the time that anything may take.
inline constexpr double kSlowness = 5;

/// What must hold after a fault, beyond what always must: see judge().
struct Expectation {
  bool may_succeed = true;    ///< the same status and results as when undisturbed are right
  bool must_succeed = false;  ///< nothing else is
  std::set<int> statuses = {1};
  std::set<int> signals = {};  ///< that we sent and that may end it
  bool reads_error = true;     ///< standard error reaches us
  bool reads_output = true;    ///< standard output reaches us, as far as it goes
  bool same_task = true;       ///< inputs are those of the undisturbed run, so its results tell what is right
  bool may_litter = false;     ///< it cannot remove what it wants to remove
  bool folder_vanishes = false;
};

/// One fault, drawn: what is done, and what is expected.
struct Fault {
  std::string description;
  RunPlan plan;
  Expectation expectation = {};
  std::optional<double> second_starts = {};  ///< a second, equal process starts so many seconds later
  std::function<void()> repair = {};         ///< afterwards: makes it possible to run again
};

/// Where a program with the hooks notes in whose code it crashes, in the working directory.
inline constexpr const char* kCrashNote = "crashed-in";

using Random = std::mt19937_64;

/// What a kind of fault draws from.
struct Draw {
  const Equipment& equipment;
  const Scenario& scenario;
  const Profile& profile;
  std::filesystem::path folder;
  Random& random;
  Fault& fault;

  /// From 1 to `most`; small numbers are as likely as all larger ones, since most of what can go wrong goes wrong
  /// early.
  std::uint64_t number(std::uint64_t most) const;
  /// From 0 to 1.
  double share() const;
  bool coin() const { return random() % 2 == 0; }
};

/// A way in which the world can fail.
struct FaultKind {
  std::string name;
  /// How many different faults of this kind a scenario can have; 0: it makes no sense there.
  std::function<std::uint64_t(const Equipment&, const Scenario&, const Profile&)> variety;
  std::function<void(const Draw&)> draw;
  std::string unavailable = {};  ///< why it cannot be tried on this machine; empty: it can
};

std::vector<FaultKind> make_fault_kinds(const Equipment& equipment);

}  // namespace dragoman::faults
