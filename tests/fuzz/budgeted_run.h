#pragma once

#include "target.h"

namespace dragoman::fuzz {

/// What an exercise took.
struct Cost {
  double milliseconds = 0;
  std::size_t bytes = 0;
  bool accepted = false;
};

/// Exercises the target within its budget; returns what it did, or throws a Fault. Time is the process's processor
/// time, and one that is over the budget is taken again, since another process may have been in the way.
bool run(const Target& target, std::string_view bytes);

/// The same; returns what it took.
Cost cost_of(const Target& target, std::string_view bytes);

}  // namespace dragoman::fuzz
