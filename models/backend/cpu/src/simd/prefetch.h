#pragma once

#include <algorithm>
#include <cstdint>

namespace dragoman::backend::cpu {

/// Memory on its way to the first-level cache, part by part, while something else is done. A model's packed weights do
/// not fit into the cache, and a processor that sees a new block only when its product begins waits for it: with 64
/// rows some 15 % of the time.
class Prefetch {
 public:
  /// Nothing of no bytes, and nothing if it would come in few big parts, which waits as well.
  Prefetch(const void* begin, std::int64_t bytes, std::int64_t parts) : begin_(static_cast<const char*>(begin)) {
    if (parts < kFewestParts) return;
    bytes_ = bytes;
    part_ = (bytes / parts + kLine - 1) / kLine * kLine;
  }

  void part(std::int64_t number) const {
    const std::int64_t end = std::min(bytes_, (number + 1) * part_);
    for (std::int64_t at = number * part_; at < end; at += kLine) __builtin_prefetch(begin_ + at);
  }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr std::int64_t kFewestParts = 4;

  const char* begin_;
  std::int64_t bytes_ = 0;
  std::int64_t part_ = 0;
};

}  // namespace dragoman::backend::cpu
