#pragma once

#include "update/gradient_buckets.h"
#include "update/gradient_tree.h"
#include "update/linked_sum.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <dragoman/collective/tree_sum.h>

namespace dragoman::training {

/// Sums the gradients of an update over all processes, one bucket at a time, by the fixed tree over its micro-batches.
///
/// If the host computes, a thread sums during the backward pass of this process's last micro-batch: begin(), the pass
/// with watch(), finish(). Otherwise finish() does everything: from device to device if they are linked, else through
/// host memory. From begin() to the return of finish() or cancel(), only that thread uses the collective. All
/// references must outlive the object.
class GradientReducer {
 public:
  GradientReducer(collective::Collective& collective, nn::ParameterStore& parameters, GradientTree& tree,
                  tensor::Context& context, std::int64_t bucket_values, collective::DeviceLinks* links = nullptr);
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;
  ~GradientReducer();

  /// Call it before the backward pass of the last micro-batch, or if this process has none. `beside`: whether the pass
  /// writes the gradients that are summed, so that buckets may be taken before its end.
  void begin(std::int64_t leaves, GradientTree::LastLeaf last, bool has_leaf, bool beside);
  autograd::Tape::Progress watch();
  /// Returns when the flat gradients are the sums over all processes. Rethrows errors of the thread.
  void finish();
  /// Call it after an error of this process: notifies the others, and returns when the sums have stopped.
  void cancel(core::ErrorCode code, std::string_view reason) noexcept;

 private:
  void work();
  void run_in_background(std::size_t bucket);
  /// On host memory.
  void reduce(const GradientBucket& bucket);
  template <class T>
  void reduce_as(const GradientBucket& bucket);
  /// On memory that the host cannot access: fetches and stores it.
  void reduce_staged(const GradientBucket& bucket);
  template <class T>
  void reduce_staged_as(const GradientBucket& bucket);
  /// On device memory, through the links.
  void reduce_linked(const GradientBucket& bucket);

  collective::Collective* collective_;
  nn::ParameterStore* parameters_;
  GradientTree* tree_;
  tensor::Context* context_;
  std::vector<GradientBucket> buckets_;
  collective::TreeSum sum_;
  std::optional<LinkedSum> linked_;  ///< nullopt: the devices are not linked

  // Of the current update.
  std::int64_t leaves_ = 0;
  GradientTree::LastLeaf last_;
  bool has_leaf_ = false;
  bool background_ = false;
  std::optional<BucketWatch> watch_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ready_ = 0;  ///< buckets that may be reduced
  std::size_t done_ = 0;
  std::exception_ptr error_;
  bool ends_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace dragoman::training
