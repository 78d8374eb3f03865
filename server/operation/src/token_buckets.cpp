#include "token_buckets.h"

#include <algorithm>

namespace dragoman::server {

TokenBuckets::Clock::duration TokenBuckets::take(std::string_view caller, int per_minute, Clock::time_point now) {
  const double capacity = per_minute;
  const double per_second = capacity / 60;
  const std::lock_guard lock(mutex_);
  if (const auto found = by_caller_.find(caller); found != by_caller_.end()) {
    buckets_.splice(buckets_.begin(), buckets_, found->second);
  } else {
    if (buckets_.size() >= most_callers_) {
      by_caller_.erase(buckets_.back().caller);
      buckets_.pop_back();
    }
    buckets_.push_front({std::string(caller), capacity, now});
    by_caller_.emplace(buckets_.front().caller, buckets_.begin());
  }
  Bucket& bucket = buckets_.front();
  const double elapsed = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.tokens = std::min(capacity, bucket.tokens + std::max(elapsed, 0.0) * per_second);
  bucket.filled = now;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return {};
  }
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>((1 - bucket.tokens) / per_second));
}

std::size_t TokenBuckets::size() const {
  const std::lock_guard lock(mutex_);
  return buckets_.size();
}

}  // namespace dragoman::server
