#pragma once

#include <cstddef>
#include <vector>

namespace dragoman::backend::cuda {

/// Where bytes wait on their way to a device: memory of the host that the device reads by itself (pinned), used segment
/// by segment, round and round. Who hands bytes over need not wait for them, unless all segments are still being read.
/// Belongs to one thread, and so to one stream.
class StagingRing {
 public:
  /// What does the copies, in the order of the calls.
  class Copier {
   public:
    virtual ~Copier() = default;
    /// From the segment to the device; returns before it is done.
    virtual void copy(void* to, const void* staged, std::size_t bytes) = 0;
    /// All copies from the segment have been asked for.
    virtual void mark(std::size_t segment) = 0;
    /// Until the copies before the segment's last mark are done.
    virtual void wait(std::size_t segment) = 0;
  };

  /// `memory` of `segments` times `segment_bytes` bytes, and the copier, outlive the ring.
  StagingRing(void* memory, std::size_t segment_bytes, std::size_t segments, Copier& copier);

  /// `from` may change once this returns.
  void upload(void* to, const void* from, std::size_t bytes);

 private:
  void next_segment();

  char* memory_;
  std::size_t segment_bytes_;
  std::vector<bool> marked_;  ///< of each segment
  Copier& copier_;
  std::size_t segment_ = 0;
  std::size_t used_ = 0;  ///< of it
};

}  // namespace dragoman::backend::cuda
