#include "update/gradient_buckets.h"

#include <algorithm>

#include <dragoman/tensor/dtype.h>

namespace dragoman::training {
namespace {

/// Returns the first column of a parameter's gradient in the flat gradients.
std::int64_t column_of(const nn::ParameterStore& parameters, const nn::Parameter& parameter) {
  const tensor::Tensor flat = parameters.flat_gradients();
  const auto bytes = static_cast<const char*>(parameter.gradient->value.data) - static_cast<const char*>(flat.data);
  return bytes / static_cast<std::int64_t>(tensor::size_of(flat.dtype));
}

std::int64_t complete_at(const GradientBucket& bucket) {
  std::int64_t at = autograd::Gradient::kNoRecord;
  for (const nn::Parameter* parameter : bucket.parameters) {
    const std::int64_t first = parameter->gradient->first_record;
    at = std::min(at, first == autograd::Gradient::kNoRecord ? 0 : first);
  }
  return at;
}

}  // namespace

std::vector<GradientBucket> make_buckets(const nn::ParameterStore& parameters, std::int64_t values) {
  std::vector<GradientBucket> buckets;
  std::int64_t room = 0;  // 0: the next parameter begins a bucket
  for (auto parameter = parameters.all().rbegin(); parameter != parameters.all().rend(); ++parameter) {
    if (parameter->frozen) {
      room = 0;
      continue;
    }
    const std::int64_t begin = column_of(parameters, *parameter), size = parameter->rows * parameter->cols;
    if (room == 0) {
      buckets.push_back({.begin = begin, .end = begin + size});
      room = values;
    }
    buckets.back().begin = begin;
    buckets.back().parameters.push_back(&*parameter);
    room = std::max<std::int64_t>(0, room - size);
  }
  return buckets;
}

void BucketWatch::advance(std::int64_t left) {
  if (complete_at_.empty())
    for (const GradientBucket& bucket : *buckets_) complete_at_.push_back(complete_at(bucket));
  while (next_ < buckets_->size() && complete_at_[next_] >= left) take_next();
}

void BucketWatch::rest() {
  while (next_ < buckets_->size()) take_next();
}

void BucketWatch::take_next() {
  for (const nn::Parameter* parameter : (*buckets_)[next_].parameters) parameters_->take_gradient(*parameter);
  take_(next_++);
}

}  // namespace dragoman::training
