#pragma once

#include <cstddef>

namespace dragoman::fuzz {

/// Measures the most memory that the process had allocated at a time since the meter was made, beyond what it had then.
/// Counts malloc() and all that is built on it, of every thread and library. One meter at a time.
class AllocationMeter {
 public:
  AllocationMeter();
  std::size_t peak() const;

 private:
  std::size_t start_;
};

/// How many times as long as a release build this one may take: sanitizers, coverage and missing optimisation cost
/// time.
double slowdown();

}  // namespace dragoman::fuzz
