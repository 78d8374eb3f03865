#pragma once

#include <chrono>
#include <span>
#include <stop_token>
#include <string>

#include <dragoman/collective/collective.h>
#include <dragoman/core/log.h>

namespace dragoman::collective {

/// What the processes of a job hand each other from the memory of one's device to that of another's. All else goes by
/// the Collective that they were made with, which must outlive them.
///
/// **Threads**: that which made the object, alone.
///
/// **Errors**: those of the Collective if another process has ended or given up, else Error{kIo} with the words of the
/// library beneath. After an error what is under way has been given up, and every further call fails with the same.
class DeviceLinks {
 public:
  using Bytes = Collective::Bytes;
  using Room = Collective::Room;

  DeviceLinks() = default;
  DeviceLinks(const DeviceLinks&) = delete;
  DeviceLinks& operator=(const DeviceLinks&) = delete;
  /// Gives up what is under way. Where all is well the processes meet first (Collective::close()).
  virtual ~DeviceLinks();

  /// "NCCL 2.21.5".
  virtual std::string describe() const = 0;
  /// As Collective::exchange(), of the device's memory and in the order of what the calling thread launches: what is
  /// sent is what earlier launches leave, and later ones find what has come. It is not done on return; the memory must
  /// stay until wait().
  virtual void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) = 0;
  /// Returns when all exchanges are done. To be called before anything else waits for the device, which would not
  /// notice that another process has ended.
  virtual void wait() = 0;
};

/// What a process has for links, for the others to compare.
struct LinkOffer {
  std::string version{};  ///< "NCCL 2.21.5": equal in all processes, or they cannot speak with each other
  std::string device{};   ///< its device, by a name that no other has, of whatever machine
  std::string trouble{};  ///< why it cannot have any; empty: it can
};

/// What the links of a process are made of.
struct LinkRequest {
  Collective& ranks;
  int device = 0;
  /// How long to wait until all are linked.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  std::stop_token stop{};
};

/// Why the processes cannot be linked, with the first rank that it is about; empty if they can. All have to call it,
/// and get the same.
std::string reason_against_links(Collective& ranks, const LinkOffer& mine);

}  // namespace dragoman::collective
