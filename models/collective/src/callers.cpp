#include "callers.h"

#include <algorithm>

#include <poll.h>

namespace dragoman::collective::tcp {
namespace {

/// How long a caller may take to say who he is, and how many may be heard at a time.
constexpr std::chrono::seconds kHearing{10};
constexpr std::size_t kMostCallers = 4200;

}  // namespace

int Callers::listen(const Patience& patience, const Judge& judge, const std::vector<int>& watched) {
  patience.check_stop();
  std::vector<pollfd> entries;
  for (const int socket : watched) entries.push_back({socket, POLLIN, 0});
  for (const Caller& caller : callers_) entries.push_back({caller.socket.number(), POLLIN, 0});
  if (callers_.size() < kMostCallers) entries.push_back({listener_->number(), POLLIN, 0});
  ::poll(entries.data(), entries.size(), patience.slice());
  for (auto caller = callers_.begin(); caller != callers_.end();)
    caller = hear(*caller, judge) ? std::next(caller) : callers_.erase(caller);
  accept_all();
  for (std::size_t i = 0; i < watched.size(); ++i)
    if (entries[i].revents != 0) return watched[i];
  return -1;
}

void Callers::accept_all() {
  while (callers_.size() < kMostCallers) {
    Socket socket = accept_from(*listener_);
    if (!socket.is_open()) return;
    socket.set_up();
    std::string address = socket.peer_address();
    callers_.push_back({std::move(socket), std::move(address), {}, Clock::now() + kHearing});
  }
}

bool Callers::hear(Caller& caller, const Judge& judge) {
  try {
    while (true) {
      const std::size_t wanted = caller.heard.size() < kHelloPrefix ? kHelloPrefix : length_of_hello(caller.heard);
      if (wanted == caller.heard.size()) break;
      Bytes part(wanted - caller.heard.size());
      const Socket::Moved moved = caller.socket.read_some(part);
      if (moved.state == Socket::State::kWait) {
        core::require(Clock::now() < caller.end, core::ErrorCode::kBadInput, "it does not say who it is");
        return true;
      }
      core::require(moved.state == Socket::State::kDone, core::ErrorCode::kBadInput,
                    "it went without saying who it is");
      caller.heard.insert(caller.heard.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(moved.bytes));
    }
    const std::string refusal = judge(decode_hello(caller.heard), caller.socket);
    if (!refusal.empty()) turn_away(caller, refusal);
  } catch (const core::Error& error) {
    if (error.code() != core::ErrorCode::kBadInput) throw;
    turn_away(caller, error.what());
  }
  return false;
}

void Callers::turn_away(Caller& caller, const std::string& reason) {
  core::log(*log_, core::LogLevel::kWarning, fmt::format("turned away a caller from {}: {}", caller.address, reason));
  // It may not listen, which is its own affair.
  caller.socket.write_some(encode(Welcome{.refusal = reason}));
}

}  // namespace dragoman::collective::tcp
