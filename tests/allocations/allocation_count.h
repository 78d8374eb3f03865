#pragma once

#include <cstdint>
#include <string>

namespace dragoman::testing {

/// Counts how often this process asks for memory, from its construction to stop(): malloc() and its kin, and so
/// operator new, in every thread and library. What oneDNN asks for on its own account is counted apart, since that is
/// up to its version and to the CPU. One at a time.
class AllocationCount {
 public:
  AllocationCount() noexcept;
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;
  void stop() noexcept;
  std::int64_t ours() const noexcept { return ours_; }
  std::int64_t of_onednn() const noexcept { return of_onednn_; }

  /// Who asked, how often, in the count that ended last, oneDNN left out: for the message of a test that fails.
  static std::string callers();

 private:
  std::int64_t ours_ = 0;
  std::int64_t of_onednn_ = 0;
};

}  // namespace dragoman::testing
