#include "socket.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <dragoman/core/error.h>

namespace dragoman::collective::tcp {
namespace {

using core::ErrorCode;

std::string text_of(int error) {
  return std::system_category().message(error);
}

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// Empty address: any of this machine. Nothing, and the reason, where a name is not known (now).
Addresses resolve(const std::string& address, std::uint16_t port, std::string& reason) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (address.empty() ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.empty() ? nullptr : address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    reason = error == EAI_SYSTEM ? text_of(errno) : gai_strerror(error);
    return nullptr;
  }
  return Addresses(found);
}

std::string numbers_of(const sockaddr_storage& storage, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0)
    return {};
  std::string address = text.data();
  // An IPv4 caller of a socket that takes both.
  constexpr std::string_view kMapped = "::ffff:";
  if (address.starts_with(kMapped) && address.find('.') != std::string::npos) address.erase(0, kMapped.size());
  return address;
}

bool is_loopback_address(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24) == 127;
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

void set_option(int descriptor, int level, int option, int value) {
  // A system that does not know it loses a convenience.
  static_cast<void>(::setsockopt(descriptor, level, option, &value, sizeof value));
}

Socket make_socket(const addrinfo& entry) {
  return Socket(::socket(entry.ai_family, entry.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, entry.ai_protocol));
}

/// 0, or errno.
int try_listen(const Socket& socket, const addrinfo& entry) {
  set_option(socket.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (entry.ai_family == AF_INET6) set_option(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.number(), entry.ai_addr, entry.ai_addrlen) != 0) return errno;
  return ::listen(socket.number(), SOMAXCONN) == 0 ? 0 : errno;
}

/// 0, or errno.
int try_connect(const Socket& socket, const addrinfo& entry, const Patience& patience) {
  if (::connect(socket.number(), entry.ai_addr, entry.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  socket.wait(true, patience);
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error != 0) return error;
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  return ::getpeername(socket.number(), reinterpret_cast<sockaddr*>(&peer), &length) == 0 ? 0 : ETIMEDOUT;
}

}  // namespace

void Patience::check_stop() const {
  core::require(!stop.stop_requested(), ErrorCode::kInterrupted,
                "interrupted while it waited for the other processes of the job");
}

int Patience::slice() const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 100));
}

Socket::~Socket() {
  if (is_open()) ::close(descriptor_);
}

Socket::Moved Socket::read_some(std::span<std::byte> room) const {
  const ssize_t count = ::recv(descriptor_, room.data(), room.size(), 0);
  if (count > 0) return {State::kDone, static_cast<std::size_t>(count)};
  if (count == 0) return {State::kEnded, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {State::kWait, 0};
  return {State::kEnded, 0, errno};
}

Socket::Moved Socket::write_some(std::span<const std::byte> bytes) const {
  const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0) return {State::kDone, static_cast<std::size_t>(count)};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS) return {State::kWait, 0};
  return {State::kEnded, 0, errno};
}

void Socket::wait(bool write, const Patience& patience) const {
  while (true) {
    patience.check_stop();
    pollfd entry{descriptor_, static_cast<short>(write ? POLLOUT : POLLIN), 0};
    const int ready = ::poll(&entry, 1, patience.slice());
    if (ready > 0 || patience.is_over()) return;
  }
}

void Socket::write_all(std::span<const std::byte> bytes, const Patience& patience, const std::string& what) const {
  while (!bytes.empty()) {
    const Moved moved = write_some(bytes);
    core::require(moved.state != State::kEnded, ErrorCode::kIo, "{} has closed the connection{}", what,
                  moved.error == 0 ? "" : ": " + text_of(moved.error));
    bytes = bytes.subspan(moved.bytes);
    if (moved.state != State::kWait) continue;
    core::require(!patience.is_over(), ErrorCode::kIo, "{} takes no data; the time to join is over", what);
    wait(true, patience);
  }
}

void Socket::read_all(std::span<std::byte> room, const Patience& patience, const std::string& what) const {
  while (!room.empty()) {
    const Moved moved = read_some(room);
    core::require(moved.state != State::kEnded, ErrorCode::kIo, "{} has closed the connection{}", what,
                  moved.error == 0 ? "" : ": " + text_of(moved.error));
    room = room.subspan(moved.bytes);
    if (moved.state != State::kWait) continue;
    core::require(!patience.is_over(), ErrorCode::kIo, "{} does not answer; the time to join is over", what);
    wait(false, patience);
  }
}

std::string Socket::own_address() const {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return numbers_of(storage, length);
}

std::string Socket::peer_address() const {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getpeername(descriptor_, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return numbers_of(storage, length);
}

std::uint16_t Socket::own_port() const {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

void Socket::set_up() const {
  set_option(descriptor_, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(descriptor_, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor_, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set_option(descriptor_, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(descriptor_, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(descriptor_, IPPROTO_TCP, TCP_USER_TIMEOUT, 40000);
}

Socket listen_at(const std::string& address, std::uint16_t port) {
  std::string reason;
  const Addresses found = resolve(address, port, reason);
  // Where any address will do, one socket of IPv6 takes callers of both kinds.
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* entry = found.get(); entry != nullptr; entry = entry->ai_next) {
      if (entry->ai_family != family) continue;
      Socket socket = make_socket(*entry);
      const int error = socket.is_open() ? try_listen(socket, *entry) : errno;
      if (error == 0) return socket;
      reason = text_of(error);
      // The other kind of address would be listened at beside whoever has it.
      if (error == EADDRINUSE) break;
    }
    if (reason == text_of(EADDRINUSE)) break;
  }
  core::fail(ErrorCode::kIo,
             "cannot listen at {}{}port {}: {}; another job may have it: choose another one (MASTER_PORT)", address,
             address.empty() ? "" : ", ", port, reason);
}

Socket accept_from(const Socket& listener) {
  return Socket(::accept4(listener.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

Socket connect_to(const std::string& address, std::uint16_t port, const Patience& patience, const std::string& whom) {
  std::string reason = "no address";
  while (true) {
    const Addresses found = resolve(address, port, reason);
    for (const addrinfo* entry = found.get(); entry != nullptr; entry = entry->ai_next) {
      Socket socket = make_socket(*entry);
      const int error = socket.is_open() ? try_connect(socket, *entry, patience) : errno;
      if (error == 0) {
        socket.set_up();
        return socket;
      }
      reason = text_of(error);
    }
    patience.check_stop();
    core::require(!patience.is_over(), ErrorCode::kIo, "cannot reach {} at {}, port {}: {}", whom, address, port,
                  reason);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "unknown host";
}

bool is_loopback(const std::string& address) {
  std::string ignored;
  const Addresses found = resolve(address, 0, ignored);
  if (found == nullptr || address.empty()) return false;
  for (const addrinfo* entry = found.get(); entry != nullptr; entry = entry->ai_next)
    if (!is_loopback_address(*entry->ai_addr)) return false;
  return true;
}

}  // namespace dragoman::collective::tcp
