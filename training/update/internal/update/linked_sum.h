#pragma once

#include <cstdint>
#include <span>

#include <dragoman/collective/device_links.h>
#include <dragoman/collective/tree_sum.h>
#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/context.h>

namespace dragoman::training {

/// Sums rows by the fixed tree over all processes in device memory: a kernel adds received rows in the order of
/// TreeSum. All references must outlive the object.
class LinkedSum final : private collective::SumPlace {
 public:
  LinkedSum(collective::DeviceLinks& links, const collective::Collective& ranks, tensor::Context& context)
      : links_(&links), ranks_(&ranks), context_(&context) {}

  /// As TreeSum, for tensors with one row. Does not wait for the result.
  void operator()(std::int64_t leaves, std::span<const tensor::Tensor> parts, const tensor::Tensor& result);
  /// Waits for the result.
  void wait() { links_->wait(); }

 private:
  void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) override;
  std::byte* scratch(std::size_t bytes) override;
  void add(Room left, Bytes right) override { combine(left, right, true); }
  void copy(Room to, Bytes from) override { combine(to, from, false); }
  void combine(Room to, Bytes from, bool accumulate);

  collective::DeviceLinks* links_;
  const collective::Collective* ranks_;
  tensor::Context* context_;
  tensor::Tensor like_{};  ///< of the current sum
  tensor::Buffer scratch_;
};

}  // namespace dragoman::training
