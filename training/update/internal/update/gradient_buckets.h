#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <dragoman/autograd/tape.h>
#include <dragoman/nn/parameters.h>

namespace dragoman::training {

/// Columns [begin, end) of the flat gradients, with the trained parameters that lie in them.
struct GradientBucket {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<const nn::Parameter*> parameters{};
};

/// Cuts the flat gradients into buckets of some size, whole parameters each, in the order in which a backward pass is
/// likely to complete them: from the last parameter to the first. What is frozen is in none. The same for equal stores.
std::vector<GradientBucket> make_buckets(const nn::ParameterStore& parameters, std::int64_t values);

/// Hands buckets on, in order, as soon as a backward pass has completed them and those before them: give watch() to its
/// tape. When it is over, rest() hands on what is left. References must outlive it.
///
/// A parameter that no op has named to recording() before the backward pass began (since it is not used, or only in
/// what the pass computes anew) is complete at its end.
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
  std::vector<std::int64_t> complete_at_;  ///< of each bucket, in records that are left
  std::size_t next_ = 0;
};

}  // namespace dragoman::training
