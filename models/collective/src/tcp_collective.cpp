#include "tcp_collective.h"

#include "dragoman/collective/launch.h"
#include "tcp_join.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace dragoman::collective {
namespace tcp {

using core::ErrorCode;
using State = Socket::State;

TcpCollective::TcpCollective(int rank, Connections connections)
    : rank_(rank), hosts_(std::move(connections.hosts)), alarm_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  core::require(alarm_.is_open(), ErrorCode::kIo, "the system has no file left for a signal between threads");
  for (Socket& socket : connections.sockets) peers_.push_back({.socket = std::move(socket)});
}

const std::string& TcpCollective::host_of(int rank) const {
  return hosts_.at(static_cast<std::size_t>(rank));
}

void TcpCollective::exchange(std::span<const Collective::Bytes> outgoing, std::span<const Room> incoming) {
  const std::lock_guard lock(mutex_);
  if (failure_) throw core::Error(*failure_);
  try {
    post(outgoing, incoming);
    while (!is_complete()) {
      wait();
      for (std::size_t r = 0; r < peers_.size(); ++r) {
        Peer& peer = peers_[r];
        if (!peer.outgoing.is_complete() && (peer.events & (POLLOUT | POLLERR | POLLHUP)) != 0) send_to(r);
        if (!peer.incoming.is_complete() && (peer.events & (POLLIN | POLLERR | POLLHUP)) != 0) receive_from(r);
      }
    }
  } catch (const core::Error& error) {
    failure_.emplace(error);
    throw;
  }
}

void TcpCollective::post(std::span<const Collective::Bytes> outgoing, std::span<const Room> incoming) {
  core::require(outgoing.size() == peers_.size() && incoming.size() == peers_.size(), ErrorCode::kInvalidArgument,
                "an exchange of {} and {} parts between {} processes", outgoing.size(), incoming.size(), peers_.size());
  ++sequence_;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    if (static_cast<int>(r) == rank_) continue;
    peers_[r].outgoing = {};
    peers_[r].incoming = {};
    if (!outgoing[r].empty()) {
      peers_[r].outgoing = {.header = encode(FrameHeader{.sequence = sequence_, .length = outgoing[r].size()}),
                            .header_left = kFrameHeader,
                            .data = outgoing[r]};
    }
    if (!incoming[r].empty()) peers_[r].incoming = {.header = {}, .header_left = kFrameHeader, .data = incoming[r]};
  }
  // Most of the time there is room at once.
  for (std::size_t r = 0; r < peers_.size(); ++r)
    if (!peers_[r].outgoing.is_complete()) send_to(r);
}

bool TcpCollective::is_complete() const {
  return std::ranges::all_of(
      peers_, [](const Peer& peer) { return peer.outgoing.is_complete() && peer.incoming.is_complete(); });
}

void TcpCollective::wait() {
  std::vector<pollfd> entries{{alarm_.number(), POLLIN, 0}};
  for (const Peer& peer : peers_) {
    short wanted = 0;
    if (!peer.outgoing.is_complete()) wanted |= POLLOUT;
    if (!peer.incoming.is_complete()) wanted |= POLLIN;
    // A negative number is passed over.
    entries.push_back({wanted == 0 ? -1 : peer.socket.number(), wanted, 0});
  }
  while (::poll(entries.data(), entries.size(), -1) < 0)
    core::require(errno == EINTR || errno == EAGAIN, ErrorCode::kIo, "waiting for other processes failed: {}",
                  std::generic_category().message(errno));
  core::require(!given_up_, ErrorCode::kInterrupted, "this process has given up meanwhile");
  for (std::size_t r = 0; r < peers_.size(); ++r) peers_[r].events = entries[r + 1].revents;
}

void TcpCollective::send_to(std::size_t r) {
  Peer& peer = peers_[r];
  Sending& out = peer.outgoing;
  while (!out.is_complete()) {
    const bool in_header = out.header_left > 0;
    const auto moved = peer.socket.write_some(in_header ? std::span(out.header).last(out.header_left) : out.data);
    if (moved.state == State::kWait) return;
    if (moved.state == State::kEnded) fail_for(r);
    if (in_header)
      out.header_left -= moved.bytes;
    else
      out.data = out.data.subspan(moved.bytes);
  }
}

void TcpCollective::receive_from(std::size_t r) {
  Peer& peer = peers_[r];
  Receiving& in = peer.incoming;
  while (!in.is_complete()) {
    const bool in_header = in.header_left > 0;
    const auto moved = peer.socket.read_some(in_header ? std::span(in.header).last(in.header_left) : in.data);
    if (moved.state == State::kWait) return;
    if (moved.state == State::kEnded) fail_for(r);
    if (!in_header) {
      in.data = in.data.subspan(moved.bytes);
      continue;
    }
    in.header_left -= moved.bytes;
    if (in.header_left == 0) check_header(r);
  }
}

void TcpCollective::check_header(std::size_t r) {
  const Receiving& in = peers_[r].incoming;
  FrameHeader header;
  try {
    header = decode_frame_header(in.header);
  } catch (const core::Error& error) {
    core::fail(ErrorCode::kIo, "{} sends nonsense: {}", name_of(static_cast<int>(r)), error.what());
  }
  if (header.kind == FrameHeader::Kind::kAbort) fail_with_abort(r, header);
  core::require(header.sequence == sequence_ && header.length == in.data.size(), ErrorCode::kIo,
                "{} sends {} bytes in exchange {}, where {} bytes in exchange {} are expected: the processes do not do "
                "the same",
                name_of(static_cast<int>(r)), header.length, header.sequence, in.data.size(), sequence_);
}

void TcpCollective::fail_with_abort(std::size_t r, const FrameHeader& header) {
  tcp::Bytes words(static_cast<std::size_t>(header.length));
  Abort abort;
  try {
    peers_[r].socket.read_all(words, {.end = Clock::now() + std::chrono::seconds(2)}, name_of(static_cast<int>(r)));
    abort = decode_abort(words);
  } catch (const core::Error&) {
    abort = {ErrorCode::kIo, "it could not say why"};
  }
  core::fail(abort.code, "{} gave up: {}", name_of(static_cast<int>(r)), abort.reason);
}

void TcpCollective::fail_for(std::size_t r) {
  // Who goes because another one gave up may be seen first.
  for (std::size_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].socket.is_open()) read_last_words(i);
  std::string others;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (i == r || !peers_[i].socket.is_open()) continue;
    pollfd entry{peers_[i].socket.number(), POLLRDHUP, 0};
    if (::poll(&entry, 1, 0) > 0) others += ", as has " + name_of(static_cast<int>(i));
  }
  core::fail(ErrorCode::kIo, "{} has ended without a word{}: it was killed, or its machine or the network is down",
             name_of(static_cast<int>(r)), others);
}

void TcpCollective::read_last_words(std::size_t r) {
  // Only between two frames does a header come.
  const Receiving& in = peers_[r].incoming;
  if (!in.is_complete() && in.header_left < kFrameHeader) return;
  std::array<std::byte, kFrameHeader> bytes{};
  const auto moved = peers_[r].socket.read_some(bytes);
  if (moved.state != State::kDone || moved.bytes != bytes.size()) return;
  FrameHeader header;
  try {
    header = decode_frame_header(bytes);
  } catch (const core::Error&) {
    return;
  }
  if (header.kind == FrameHeader::Kind::kAbort) fail_with_abort(r, header);
}

void TcpCollective::check() {
  const std::lock_guard lock(mutex_);
  if (failure_) throw core::Error(*failure_);
  try {
    core::require(!given_up_, ErrorCode::kInterrupted, "this process has given up meanwhile");
    for (std::size_t r = 0; r < peers_.size(); ++r)
      if (peers_[r].socket.is_open()) look_at(r);
  } catch (const core::Error& error) {
    failure_.emplace(error);
    throw;
  }
}

void TcpCollective::look_at(std::size_t r) {
  const int socket = peers_[r].socket.number();
  std::array<std::byte, kFrameHeader> bytes{};
  const ssize_t came = ::recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (came == static_cast<ssize_t>(bytes.size())) {
    // An exchange that this process has not come to yet is looked at there.
    std::uint32_t kind = 0;
    try {
      kind = static_cast<std::uint32_t>(decode_frame_header(bytes).kind);
    } catch (const core::Error&) {
      return;
    }
    if (kind == static_cast<std::uint32_t>(FrameHeader::Kind::kAbort)) read_last_words(r);
  }
  const bool silent = came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (came == 0 || (came < 0 && !silent)) fail_for(r);
  pollfd entry{socket, POLLRDHUP, 0};
  if (::poll(&entry, 1, 0) > 0) fail_for(r);
}

void TcpCollective::abort(ErrorCode code, std::string_view reason) noexcept {
  try {
    given_up_ = true;
    const std::uint64_t one = 1;
    static_cast<void>(!::write(alarm_.number(), &one, sizeof one));
    const std::lock_guard lock(mutex_);
    if (closed_ || aborted_) return;
    aborted_ = true;
    if (!failure_) failure_.emplace(code, "this process has given up: " + std::string(reason));
    const tcp::Bytes words = encode(Abort{code, std::string(reason)});
    for (const Peer& peer : peers_)
      if (peer.socket.is_open() && peer.outgoing.is_between_frames()) peer.socket.write_some(words);
  } catch (const std::exception&) {
    // There is no memory to say why: the others see that this process ends.
  }
}

void TcpCollective::finish() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace tcp

std::unique_ptr<Collective> join_tcp(const Launch& launch, const core::LogSink& log, const std::stop_token& stop) {
  check(launch);
  return std::make_unique<tcp::TcpCollective>(launch.rank, tcp::join(launch, log, stop));
}

}  // namespace dragoman::collective
