#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <unistd.h>

#include <dragoman/collective/launch.h>

namespace dragoman::collective::testing {

/// A port of the loopback that nobody has now.
inline std::uint16_t free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), length);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

inline Launch launch_of(int rank, int size, std::uint16_t port) {
  return {.transport = kTcp,
          .rank = rank,
          .size = size,
          .master_address = "127.0.0.1",
          .master_port = port,
          .job = "tests",
          .join_timeout = std::chrono::seconds(20)};
}

/// Calls `body` as each of `size` processes would, in threads that are connected by TCP, and returns what each threw;
/// empty if nothing.
inline std::vector<std::string> run_ranks(int size, const std::function<void(Collective&)>& body) {
  const std::uint16_t port = free_port();
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const std::unique_ptr<Collective> collective = join_tcp(launch_of(rank, size, port));
        body(*collective);
      } catch (const core::Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  threads.clear();
  return errors;
}

}  // namespace dragoman::collective::testing
