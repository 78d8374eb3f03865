#pragma once

#include "nccl_api.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <dragoman/core/error.h>

namespace dragoman::backend::cuda {

/// A queue of a device beside those of the threads that launch, and how it takes turns with them. Of the thread that
/// made it.
class LinkQueue {
 public:
  virtual ~LinkQueue() = default;
  /// What the calling thread does next is for the queue's device.
  virtual void use() = 0;
  /// As NCCL takes it: a stream.
  virtual void* stream() = 0;
  /// What comes into the queue from now on begins when all is done that the calling thread has launched.
  virtual void begin() = 0;
  /// What the calling thread launches from now on begins when all is done that is in the queue. A device that has no
  /// such order waits here, and calls `meanwhile` again and again, which throws when there is nothing to wait for.
  virtual void end(const std::function<void()>& meanwhile) = 0;
  /// Whether all is done that is in the queue.
  virtual bool done() = 0;
};

/// Links by NCCL: an exchange is a group of sends and receives. No call of NCCL waits for other processes; this does,
/// and sees meanwhile, by the collective, whether one has gone, of which NCCL between devices of one machine hears
/// nothing.
class NcclLinks final : public collective::DeviceLinks {
 public:
  /// `api` must outlive it. Rank 0 draws what tells this job from others, and the collective takes it to all.
  NcclLinks(const NcclApi& api, std::unique_ptr<LinkQueue> queue, const collective::LinkRequest& request);
  ~NcclLinks() override;

  std::string describe() const override { return api_->version; }
  void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) override;
  void wait() override;

 private:
  void join(const collective::LinkRequest& request);
  /// Calls `step`; after an error all is given up.
  void guarded(const std::function<void()>& step);
  void post(std::span<const Bytes> outgoing, std::span<const Room> incoming);
  /// Returns when the call that gave `result` has succeeded; `meanwhile` is called until then.
  void settle(int result, std::string_view what, const std::function<void()>& meanwhile);
  /// Throws if NCCL or the collective know of something that makes waiting futile.
  void look_around();
  [[noreturn]] void fail(int result, std::string_view what);
  void give_up() noexcept;

  const NcclApi* api_;
  std::unique_ptr<LinkQueue> queue_;
  collective::Collective* ranks_;
  nccl::Communicator* communicator_ = nullptr;
  std::optional<core::Error> failure_;
};

}  // namespace dragoman::backend::cuda
