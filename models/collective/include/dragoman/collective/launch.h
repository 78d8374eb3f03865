#pragma once

#include <string>

namespace dragoman::collective {

inline constexpr const char* kNone = "none";
inline constexpr const char* kMpi = "mpi";
inline constexpr const char* kNccl = "nccl";
/// A value of Launch::device_links: links if all processes can use them, otherwise none.
inline constexpr const char* kAutoLinks = "auto";

/// The part of this process in a job, as its launcher and its user set it.
struct Launch {
  /// The plugin that joins the processes, such as kMpi. kNone: this process is alone.
  std::string transport = kNone;
  /// According to the launcher's environment variables. A transport may know them better (Collective::rank()).
  int rank = 0;
  int size = 1;
  /// How devices exchange gradients without the host's memory: kNone, kAutoLinks, or a name such as kNccl, which must
  /// then be available to all processes.
  std::string device_links = kNone;
};

}  // namespace dragoman::collective
