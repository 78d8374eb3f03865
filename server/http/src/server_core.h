#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/io_context.hpp>

#include <dragoman/core/hash_tables.h>
#include <dragoman/server/http_server.h>

namespace dragoman::server::http {

class Connection;

/// The state that all connections of a server share.
struct ServerCore {
  ServerCore(ServerSetup server_setup, Handler server_handler)
      : setup(std::move(server_setup)), handler(std::move(server_handler)) {}

  /// Runs handlers until there are none left. An exception outside of handlers, as when memory runs out between them,
  /// costs one connection.
  void run() noexcept;
  void warn(const std::exception& error) const noexcept;
  /// Runs `task` on the connection's executor; drops it if the server has ended. From any thread.
  void post(Connection& connection, std::function<void()> task);
  /// Returns whether the connection may stay; if there are too many, the one that is idle for longest goes.
  bool admit(const std::shared_ptr<Connection>& connection);
  /// Frees memory for the request of `asking`: the connection that holds the most bytes for a slow client gives way.
  /// Returns false if that is `asking` itself. Small requests are thus served although others fill the memory.
  bool make_room(const Connection& asking);
  void remove(Connection& connection) noexcept;
  std::vector<std::shared_ptr<Connection>> all();
  bool trusts(std::string_view address) const;

  const ServerSetup setup;
  const Handler handler;
  boost::asio::io_context io;
  std::atomic<std::size_t> buffered{0};
  std::atomic<std::size_t> in_flight{0};
  std::atomic<bool> draining{false};

  std::mutex mutex;
  std::condition_variable removed;
  bool ended = false;
  std::unordered_map<Connection*, std::weak_ptr<Connection>> connections;
  core::TextMap<std::size_t> per_address;
};

}  // namespace dragoman::server::http
