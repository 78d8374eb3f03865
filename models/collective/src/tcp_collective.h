#pragma once

#include "socket.h"
#include "tcp_join.h"
#include "tcp_messages.h"

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <dragoman/collective/collective.h>

namespace dragoman::collective::tcp {

/// Every two processes have a connection of their own; an exchange is a frame each way on each.
class TcpCollective final : public Collective {
 public:
  TcpCollective(int rank, Connections connections);

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(peers_.size()); }
  const std::string& host_of(int rank) const override;
  std::string describe() const override { return "TCP"; }
  void exchange(std::span<const Collective::Bytes> outgoing, std::span<const Room> incoming) override;
  void check() override;
  void abort(core::ErrorCode code, std::string_view reason) noexcept override;

 protected:
  void finish() noexcept override;

 private:
  /// What is left of a frame.
  template <class Data>
  struct Moving {
    std::array<std::byte, kFrameHeader> header{};
    std::size_t header_left = 0;
    Data data{};
    bool is_complete() const noexcept { return header_left == 0 && data.empty(); }
    bool is_between_frames() const noexcept { return is_complete() || header_left == header.size(); }
  };
  using Sending = Moving<Collective::Bytes>;
  using Receiving = Moving<Room>;

  struct Peer {
    Socket socket;
    Sending outgoing{};
    Receiving incoming{};
    short events = 0;
  };

  void post(std::span<const Collective::Bytes> outgoing, std::span<const Room> incoming);
  bool is_complete() const;
  /// Until something can be moved; Error{kInterrupted} when this process gives up.
  void wait();
  void send_to(std::size_t r);
  void receive_from(std::size_t r);
  void check_header(std::size_t r);
  [[noreturn]] void fail_with_abort(std::size_t r, const FrameHeader& header);
  /// For a peer that has gone: with what it said before, if it did, and whoever else has gone.
  [[noreturn]] void fail_for(std::size_t r);
  void read_last_words(std::size_t r);
  /// Between exchanges: whether it has gone or given up. What it has sent ahead stays to be read.
  void look_at(std::size_t r);

  int rank_;
  std::vector<std::string> hosts_;
  std::vector<Peer> peers_;
  std::uint64_t sequence_ = 0;
  Socket alarm_;  ///< can be read when this process gives up
  std::atomic<bool> given_up_ = false;
  std::mutex mutex_;  ///< held during an exchange
  std::optional<core::Error> failure_;
  bool closed_ = false;
  bool aborted_ = false;
};

}  // namespace dragoman::collective::tcp
