#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <dragoman/autograd/tape.h>
#include <dragoman/nn/parameters.h>

namespace dragoman::training {

/// Columns [begin, end) of the flat gradients, with the trained parameters in them.
struct GradientBucket {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<const nn::Parameter*> parameters{};
};

/// Divides the flat gradients into buckets of about `values` values, whole parameters each, in the order in which a
/// backward pass is likely to complete them: from the last parameter to the first. Frozen parameters are in none. Equal
/// stores have equal buckets.
std::vector<GradientBucket> make_buckets(const nn::ParameterStore& parameters, std::int64_t values);

/// Passes buckets on, in order, as soon as a backward pass has completed them and all previous ones. Pass watch() to
/// the tape. After the pass, rest() passes the remaining buckets on. References must outlive the object.
///
/// A parameter is complete at the end of the pass if no op has passed it to recording() before the backward pass began
/// (because it is unused, or used only in recomputed parts).
class BucketWatch {
 public:
  using Take = std::function<void(std::size_t bucket)>;

  BucketWatch(nn::ParameterStore& parameters, const std::vector<GradientBucket>& buckets, Take take)
      : parameters_(&parameters), buckets_(&buckets), take_(std::move(take)) {}

  autograd::Tape::Progress watch() {
    return [this](std::int64_t left) { advance(left); };
  }
  void rest();

 private:
  void advance(std::int64_t left);
  void take_next();

  nn::ParameterStore* parameters_;
  const std::vector<GradientBucket>* buckets_;
  Take take_;
  std::vector<std::int64_t> complete_at_;  ///< for each bucket, in remaining records
  std::size_t next_ = 0;
};

}  // namespace dragoman::training
