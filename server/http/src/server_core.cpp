#include "server_core.h"

#include "connection.h"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <dragoman/core/log.h>

namespace dragoman::server::http {

void ServerCore::run() noexcept {
  for (;;) try {
      io.run();
      return;
    } catch (const std::exception& error) {
      warn(error);
    }
}

void ServerCore::warn(const std::exception& error) const noexcept {
  try {
    core::log(setup.log, core::LogLevel::kWarning, fmt::format("a connection was lost: {}", error.what()));
  } catch (const std::exception&) {
    // There is no memory for the message.
  }
}

void ServerCore::post(Connection& connection, std::function<void()> task) {
  // Under the lock, so that no task comes after the last one has been run: it would keep the connection, and the
  // connection the core, for ever.
  const std::lock_guard lock(mutex);
  if (!ended) boost::asio::post(connection.executor(), std::move(task));
}

bool ServerCore::admit(const std::shared_ptr<Connection>& connection) {
  const Limits& limits = setup.limits;
  std::shared_ptr<Connection> evicted;
  {
    const std::lock_guard lock(mutex);
    std::size_t& of_address = per_address[client_network(connection->peer())];
    if (limits.connections_per_address != 0 && of_address >= limits.connections_per_address &&
        !trusts(connection->peer()))
      return false;
    if (connections.size() >= limits.connections) {
      // The destructor of a connection waits for the lock, so the pointers are valid. A result of lock() could be the
      // last reference, and its destructor would wait for ever.
      auto oldest = connections.end();
      auto oldest_since = Connection::Clock::time_point::max();
      for (auto each = connections.begin(); each != connections.end(); ++each)
        if (const auto since = each->first->idle_since(); since && *since < oldest_since) {
          oldest = each;
          oldest_since = *since;
        }
      if (oldest == connections.end()) {
        if (of_address == 0) per_address.erase(client_network(connection->peer()));
        return false;
      }
      evicted = oldest->second.lock();
    }
    connections.emplace(connection.get(), connection);
    ++of_address;
  }
  if (evicted) {
    remove(*evicted);  // now, so that the next one does not choose it again
    post(*evicted, [evicted] { evicted->close(); });
  }
  return true;
}

bool ServerCore::make_room(const Connection& asking) {
  std::shared_ptr<Connection> largest;
  {
    const std::lock_guard lock(mutex);
    // As in admit(), the pointers are valid under the lock, and lock() is called for one connection only.
    auto found = connections.end();
    std::size_t most = asking.waiting_bytes();
    for (auto each = connections.begin(); each != connections.end(); ++each)
      if (const std::size_t bytes = each->first->waiting_bytes(); bytes > most) {
        found = each;
        most = bytes;
      }
    if (found == connections.end()) return false;
    found->first->give_way_soon();
    largest = found->second.lock();
  }
  if (largest) post(*largest, [largest] { largest->give_way(); });
  return true;
}

void ServerCore::remove(Connection& connection) noexcept {
  {
    const std::lock_guard lock(mutex);
    if (connections.erase(&connection) == 0) return;
    const auto found = per_address.find(client_network(connection.peer()));
    if (found != per_address.end() && --found->second == 0) per_address.erase(found);
  }
  removed.notify_all();
}

std::vector<std::shared_ptr<Connection>> ServerCore::all() {
  std::vector<std::shared_ptr<Connection>> found;
  const std::lock_guard lock(mutex);
  found.reserve(connections.size());  // first: under the lock, none of them may be destroyed
  for (const auto& [address, weak] : connections)
    if (auto connection = weak.lock()) found.push_back(std::move(connection));
  return found;
}

bool ServerCore::trusts(std::string_view address) const {
  return std::ranges::find(setup.trusted_proxies, address) != setup.trusted_proxies.end();
}

}  // namespace dragoman::server::http
