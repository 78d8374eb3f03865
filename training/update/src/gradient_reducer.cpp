#include "update/gradient_reducer.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::training {

using tensor::Tensor;

namespace {

/// Between devices, nothing runs concurrently with the sums, and each exchange has a start-up cost: buckets are larger
/// by this factor.
constexpr std::int64_t kLinkedBucket = 8;

template <class T>
std::span<T> columns(const Tensor& flat, const GradientBucket& bucket) {
  return std::span(flat.as<T>(), static_cast<std::size_t>(flat.cols))
      .subspan(static_cast<std::size_t>(bucket.begin), static_cast<std::size_t>(bucket.end - bucket.begin));
}

}  // namespace

GradientReducer::GradientReducer(collective::Collective& collective, nn::ParameterStore& parameters, GradientTree& tree,
                                 tensor::Context& context, std::int64_t bucket_values, collective::DeviceLinks* links)
    : collective_(&collective),
      parameters_(&parameters),
      tree_(&tree),
      context_(&context),
      buckets_(make_buckets(parameters, links == nullptr ? bucket_values : bucket_values * kLinkedBucket)),
      sum_(collective) {
  if (links != nullptr) linked_.emplace(*links, collective, context);
  if (links == nullptr && context.memory().reads_host_memory())
    thread_ = core::start_thread("summing gradients beside the backward pass", [this] { work(); });
}

GradientReducer::~GradientReducer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
}

void GradientReducer::begin(std::int64_t leaves, GradientTree::LastLeaf last, bool has_leaf, bool beside) {
  const std::lock_guard lock(mutex_);
  leaves_ = leaves;
  last_ = std::move(last);
  has_leaf_ = has_leaf;
  background_ = beside && thread_.joinable();
  ready_ = done_ = 0;
  watch_.emplace(*parameters_, buckets_, [this](std::size_t bucket) { run_in_background(bucket); });
}

autograd::Tape::Progress GradientReducer::watch() {
  return background_ ? watch_->watch() : autograd::Tape::Progress{};
}

void GradientReducer::run_in_background(std::size_t bucket) {
  {
    const std::lock_guard lock(mutex_);
    ready_ = bucket + 1;
    if (error_ != nullptr) std::rethrow_exception(error_);
  }
  changed_.notify_all();
}

void GradientReducer::finish() {
  if (background_) {
    watch_->rest();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ == buckets_.size() || error_ != nullptr; });
    if (error_ != nullptr) std::rethrow_exception(error_);
    return;
  }
  tree_->add_to_gradients(last_.added);
  if (linked_) {
    for (const GradientBucket& bucket : buckets_) reduce_linked(bucket);
    linked_->wait();
    return;
  }
  const bool staged = !context_->memory().host_readable();
  if (!staged) last_.added.clear();
  for (const GradientBucket& bucket : buckets_) staged ? reduce_staged(bucket) : reduce(bucket);
}

void GradientReducer::cancel(core::ErrorCode code, std::string_view reason) noexcept {
  collective_->abort(code, reason);
  std::unique_lock lock(mutex_);
  // The thread waits for work, or finds that the collective has failed.
  if (background_) changed_.wait(lock, [&] { return done_ == ready_ || error_ != nullptr; });
}

void GradientReducer::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || (done_ < ready_ && error_ == nullptr); });
    if (ends_) return;
    const GradientBucket& bucket = buckets_[done_];
    lock.unlock();
    std::exception_ptr error;
    try {
      reduce(bucket);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error == nullptr)
      ++done_;
    else
      error_ = error;
    changed_.notify_all();
  }
}

void GradientReducer::reduce(const GradientBucket& bucket) {
  if (parameters_->flat_gradients().dtype == tensor::DType::kF64)
    reduce_as<double>(bucket);
  else
    reduce_as<float>(bucket);
}

template <class T>
void GradientReducer::reduce_as(const GradientBucket& bucket) {
  const std::span<T> own = columns<T>(parameters_->flat_gradients(), bucket);
  for (const Tensor& sum : last_.added) {
    const std::span<T> added = columns<T>(sum, bucket);
    for (std::size_t i = 0; i < own.size(); ++i) own[i] += added[i];
  }
  std::vector<std::span<T>> parts;
  for (const Tensor& sum : last_.waiting) parts.push_back(columns<T>(sum, bucket));
  if (has_leaf_) parts.push_back(own);
  sum_(leaves_, std::span<const std::span<T>>(parts), own);
}

void GradientReducer::reduce_staged(const GradientBucket& bucket) {
  if (parameters_->flat_gradients().dtype == tensor::DType::kF64)
    reduce_staged_as<double>(bucket);
  else
    reduce_staged_as<float>(bucket);
}

template <class T>
void GradientReducer::reduce_staged_as(const GradientBucket& bucket) {
  tensor::DeviceMemory& memory = context_->memory();
  const auto view_of = [&](const Tensor& flat) {
    return tensor::HostView::of(memory, flat.col_range(bucket.begin, bucket.end));
  };
  const auto span_of = [](const tensor::HostView& view) {
    return std::span(view.tensor().as<T>(), static_cast<std::size_t>(view.tensor().cols));
  };
  const tensor::HostView own = view_of(parameters_->flat_gradients());
  std::vector<tensor::HostView> views;
  std::vector<std::span<T>> parts;
  for (const Tensor& sum : last_.waiting) views.push_back(view_of(sum));
  for (const tensor::HostView& view : views) parts.push_back(span_of(view));
  if (has_leaf_) parts.push_back(span_of(own));
  sum_(leaves_, std::span<const std::span<T>>(parts), span_of(own));
  own.store();
}

void GradientReducer::reduce_linked(const GradientBucket& bucket) {
  const auto part_of = [&](const Tensor& flat) { return flat.col_range(bucket.begin, bucket.end); };
  std::vector<Tensor> parts;
  for (const Tensor& sum : last_.waiting) parts.push_back(part_of(sum));
  const Tensor own = part_of(parameters_->flat_gradients());
  if (has_leaf_) parts.push_back(own);
  (*linked_)(leaves_, parts, own);
}

}  // namespace dragoman::training
