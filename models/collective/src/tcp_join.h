#pragma once

#include "socket.h"

#include <string>
#include <vector>

#include <dragoman/collective/launch.h>

namespace dragoman::collective::tcp {

/// The other processes of a job, by rank; its own entry is closed.
struct Connections {
  std::vector<Socket> sockets;
  std::vector<std::string> hosts;
};

/// As join_tcp().
Connections join(const Launch& launch, const core::LogSink& log, const std::stop_token& stop);

}  // namespace dragoman::collective::tcp
