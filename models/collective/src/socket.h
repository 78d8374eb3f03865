#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

namespace dragoman::collective::tcp {

using Clock = std::chrono::steady_clock;

/// Until when something may take, and what ends it before.
struct Patience {
  Clock::time_point end;
  std::stop_token stop{};
  bool is_over() const { return Clock::now() >= end; }
  /// Error{kInterrupted} if a stop is asked for.
  void check_stop() const;
  /// Milliseconds to wait at a time, so that a stop is seen soon.
  int slice() const;
};

/// Owns the number of a socket that does not block.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int number() const noexcept { return descriptor_; }
  bool is_open() const noexcept { return descriptor_ >= 0; }

  /// What a read or write came to: so many bytes, or that it would have to wait, or that the other end is gone.
  enum class State : std::uint8_t { kDone, kWait, kEnded };
  struct Moved {
    State state = State::kDone;
    std::size_t bytes = 0;
    int error = 0;  ///< errno of an end that was no orderly one
  };
  Moved read_some(std::span<std::byte> room) const;
  Moved write_some(std::span<const std::byte> bytes) const;
  /// Writes all, and reads exactly so much. Error{kIo} with `what` as the subject if the other end goes or time is up.
  void write_all(std::span<const std::byte> bytes, const Patience& patience, const std::string& what) const;
  void read_all(std::span<std::byte> room, const Patience& patience, const std::string& what) const;

  /// Waits until it can be read (or written), the patience is over, or `patience.stop` asks.
  void wait(bool write, const Patience& patience) const;

  /// The address of this end, or of the other one, as numbers.
  std::string own_address() const;
  std::string peer_address() const;
  std::uint16_t own_port() const;
  /// For connections that last: no delay of small messages, and an end where the other machine has vanished.
  void set_up() const;

 private:
  int descriptor_ = -1;
};

/// Listens at the address (numbers or a name that is of this machine) and port; 0 is any port. Error{kIo} says why not.
Socket listen_at(const std::string& address, std::uint16_t port);
/// A caller, or a closed socket if there is none now.
Socket accept_from(const Socket& listener);
/// Calls until somebody answers. Error{kIo} with the last reason when the patience is over.
Socket connect_to(const std::string& address, std::uint16_t port, const Patience& patience, const std::string& whom);
/// Of this machine.
std::string host_name();
/// Whether all that a name stands for is the machine itself (127.0.0.1, ::1, localhost).
bool is_loopback(const std::string& address);

}  // namespace dragoman::collective::tcp
