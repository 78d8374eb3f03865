#pragma once

#include <chrono>
#include <span>
#include <stop_token>
#include <string>

#include <dragoman/collective/collective.h>
#include <dragoman/core/log.h>

namespace dragoman::collective {

/// Exchanges data directly between the memories of the processes' devices. The links are created with a Collective,
/// which carries everything else and must outlive them.
///
/// **Threads**: only the thread that created the object.
///
/// **Errors**: the Collective's error if another process has ended or aborted; otherwise Error{kIo} with the message of
/// the underlying library. After an error, exchanges in progress are cancelled, and every further call fails with the
/// same error.
class DeviceLinks {
 public:
  using Bytes = Collective::Bytes;
  using Room = Collective::Room;

  DeviceLinks() = default;
  DeviceLinks(const DeviceLinks&) = delete;
  DeviceLinks& operator=(const DeviceLinks&) = delete;
  /// Cancels exchanges in progress. In a normal shutdown the processes first meet in Collective::close().
  virtual ~DeviceLinks();

  /// A description of the library: "NCCL 2.21.5".
  virtual std::string describe() const = 0;
  /// Like Collective::exchange(), but on device memory and ordered with the calling thread's launches. It sends the
  /// results of earlier launches, and later launches see the received data. It is not complete on return; the memory
  /// must stay valid until wait().
  virtual void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) = 0;
  /// Returns when all exchanges are complete. Call it before any other wait for the device, because such a wait would
  /// not notice that another process has ended.
  virtual void wait() = 0;
};

/// The links that a process offers, for comparison with the other processes.
struct LinkOffer {
  std::string version{};  ///< "NCCL 2.21.5"; must be equal in all processes
  std::string device{};   ///< a globally unique name of its device
  std::string trouble{};  ///< the reason why the process cannot create links; empty: it can
};

/// The arguments for creating the links of a process.
struct LinkRequest {
  Collective& ranks;
  int device = 0;
  /// The longest time to wait until all processes are linked.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  std::stop_token stop{};
};

/// Returns the reason why the processes cannot be linked, with the first rank concerned; empty if they can. All
/// processes must call it, and all get the same result.
std::string reason_against_links(Collective& ranks, const LinkOffer& mine);

}  // namespace dragoman::collective
