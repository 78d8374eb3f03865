#pragma once

#include "socket.h"
#include "tcp_messages.h"

#include <functional>
#include <list>
#include <string>
#include <vector>

#include <dragoman/core/log.h>

namespace dragoman::collective::tcp {

/// Takes calls at a port and hears everybody out who says who he is; nobody who is slow or talks nonsense holds up
/// another.
class Callers {
 public:
  /// What is said of a caller: empty if he is welcome, and the socket was taken; else why not.
  using Judge = std::function<std::string(const Hello& hello, Socket& socket)>;

  Callers(const Socket& listener, const core::LogSink& log) : listener_(&listener), log_(&log) {}

  /// Waits for calls and words at most a slice of the patience, and asks `judge` of those who are complete. Who is not
  /// wanted is told why. `watched` are looked at, too: returns the number of one that can be read, or that has gone, or
  /// -1.
  int listen(const Patience& patience, const Judge& judge, const std::vector<int>& watched = {});

 private:
  struct Caller {
    Socket socket;
    std::string address;
    Bytes heard;
    Clock::time_point end;
  };

  void accept_all();
  /// Whether more is to be heard.
  bool hear(Caller& caller, const Judge& judge);
  void turn_away(Caller& caller, const std::string& reason);

  const Socket* listener_;
  const core::LogSink* log_;
  std::list<Caller> callers_;
};

}  // namespace dragoman::collective::tcp
