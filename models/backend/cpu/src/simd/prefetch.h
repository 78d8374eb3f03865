#pragma once

#include <algorithm>
#include <cstdint>

#include <dragoman/core/prefetch.h>

namespace dragoman::backend::cpu {

/// Prefetches memory into the first-level cache part by part while other work is done. A model's packed weights do not
/// fit into the cache. A processor that reads a new block only when its product begins waits for it: some 15 % of the
/// time with 64 rows.
class Prefetch {
 public:
  /// Has no effect if there are no bytes, or if there are few, large parts, for which the processor would wait anyway.
  Prefetch(const void* begin, std::int64_t bytes, std::int64_t parts) : begin_(static_cast<const char*>(begin)) {
    if (parts < kFewestParts) return;
    bytes_ = bytes;
    part_ = (bytes / parts + kLine - 1) / kLine * kLine;
  }

  void part(std::int64_t number) const {
    const std::int64_t end = std::min(bytes_, (number + 1) * part_);
    for (std::int64_t at = number * part_; at < end; at += kLine) core::prefetch(begin_ + at);
  }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr std::int64_t kFewestParts = 4;

  const char* begin_;
  std::int64_t bytes_ = 0;
  std::int64_t part_ = 0;
};

}  // namespace dragoman::backend::cpu
