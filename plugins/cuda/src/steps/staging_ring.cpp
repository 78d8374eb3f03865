#include "staging_ring.h"

#include <algorithm>
#include <cstring>

namespace dragoman::backend::cuda {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

StagingRing::StagingRing(void* memory, std::size_t segment_bytes, std::size_t segments, Copier& copier)
    : memory_(static_cast<char*>(memory)), segment_bytes_(segment_bytes), marked_(segments), copier_(copier) {}

void StagingRing::next_segment() {
  copier_.mark(segment_);
  marked_[segment_] = true;
  segment_ = (segment_ + 1) % marked_.size();
  used_ = 0;
  if (marked_[segment_]) copier_.wait(segment_);
}

void StagingRing::upload(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  while (bytes > 0) {
    // What fits into one segment is not cut.
    if (used_ == segment_bytes_ || (bytes > segment_bytes_ - used_ && bytes <= segment_bytes_)) next_segment();
    const std::size_t part = std::min(bytes, segment_bytes_ - used_);
    char* const staged = memory_ + segment_ * segment_bytes_ + used_;
    std::memcpy(staged, source, part);
    copier_.copy(target, staged, part);
    used_ = std::min(segment_bytes_, (used_ + part + kAlignment - 1) / kAlignment * kAlignment);
    target += part;
    source += part;
    bytes -= part;
  }
}

}  // namespace dragoman::backend::cuda
