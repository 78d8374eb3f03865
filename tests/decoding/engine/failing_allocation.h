#pragma once

#include <cstdint>

namespace dragoman::testing {

/// While it lives, the first..last-th allocations with operator new in the other threads of this process fail, counted
/// from 1. Those that oneDNN makes are left alone, since it cannot take it. One at a time.
class FailingAllocations {
 public:
  FailingAllocations(std::int64_t first, std::int64_t last) noexcept;
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
  /// How many there were.
  std::int64_t count() const noexcept;
};

}  // namespace dragoman::testing
