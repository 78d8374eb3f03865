#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <dragoman/collective/collective.h>
#include <dragoman/core/log.h>

namespace dragoman::collective {

inline constexpr const char* kNoTransport = "none";
inline constexpr const char* kTcp = "tcp";
inline constexpr const char* kMpi = "mpi";
inline constexpr const char* kNccl = "nccl";
/// Of Launch::device_links: the first that all processes can have, else none.
inline constexpr const char* kAutoLinks = "auto";
/// More processes than that are a mistake.
inline constexpr int kMostProcesses = 4096;

/// What a process was told of the job that it belongs to, by whoever launched it.
struct Launch {
  /// "none": it is alone; "tcp"; or that of a plugin, such as "mpi", which finds rank and size by itself.
  std::string transport = kNoTransport;
  int rank = 0;
  int size = 1;
  /// Of the processes of the job that run on this machine, and how many these are: for choosing a device and threads.
  int local_rank = 0;
  int local_size = 1;
  /// What devices exchange gradients by without the host's memory: kNoTransport, kAutoLinks, or the name of some, such
  /// as kNccl, without which it is an error.
  std::string device_links = kNoTransport;
  /// tcp: where rank 0 listens and the others find it. A name or an address.
  std::string master_address{};
  std::uint16_t master_port = 0;
  /// tcp: anything that tells this job from another one, equal in all processes: who brings another is refused.
  std::string job{};
  /// How long to wait for all processes to come.
  std::chrono::milliseconds join_timeout = std::chrono::minutes(5);
};

/// Joins the processes of a job by TCP: rank 0 listens at master_address:master_port, the others call it, it gives each
/// the list of all, and every two are connected. A strange caller (another program, another job, a rank that is there
/// already, nonsense) is turned away with a warning to `log` and harms nobody. There is neither encryption nor a
/// password: the network must be one's own; on one machine use the address 127.0.0.1, where nobody else calls.
///
/// Error{kInvalidArgument} for a launch that makes no sense; Error{kIo} if the port is taken, if the address has no
/// machine, and, after join_timeout, with the ranks that did not come; Error{kInterrupted} if `stop` asks while it
/// waits.
std::unique_ptr<Collective> join_tcp(const Launch& launch, const core::LogSink& log = {},
                                     const std::stop_token& stop = {});

/// Whether a launch makes sense: Error{kInvalidArgument} says what does not.
void check(const Launch& launch);

}  // namespace dragoman::collective
