#include "tcp_join.h"

#include "callers.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include <dragoman/core/fingerprint.h>

namespace dragoman::collective {

using core::ErrorCode;

void check(const Launch& launch) {
  core::require(launch.size >= 1 && launch.size <= kMostProcesses, ErrorCode::kInvalidArgument,
                "a job of {} processes; from 1 to {} are possible", launch.size, kMostProcesses);
  core::require(launch.rank >= 0 && launch.rank < launch.size, ErrorCode::kInvalidArgument,
                "the rank {} of a job of {} processes; it must lie in 0 .. {}", launch.rank, launch.size,
                launch.size - 1);
  core::require(launch.local_rank >= 0 && launch.local_size >= 1 && launch.local_rank < launch.local_size,
                ErrorCode::kInvalidArgument, "the local rank {} of {} processes on this machine", launch.local_rank,
                launch.local_size);
  if (launch.transport != kTcp) return;
  core::require(!launch.master_address.empty() && launch.master_port != 0, ErrorCode::kInvalidArgument,
                "by TCP the address and the port of rank 0 must be known (MASTER_ADDR and MASTER_PORT)");
}

namespace tcp {
namespace {

Patience patience_of(const Launch& launch, const std::stop_token& stop) {
  return {.end = Clock::now() + launch.join_timeout, .stop = stop};
}

std::uint64_t fingerprint_of_job(const Launch& launch) {
  return core::fingerprint(launch.job);
}

/// One place for both, so that no rank is let in twice.
std::string take(Connections& all, const Hello& hello, Socket& socket) {
  Socket& place = all.sockets[hello.rank];
  if (place.is_open()) return fmt::format("rank {} of this job is here already", hello.rank);
  all.hosts[hello.rank] = hello.host;
  place = std::move(socket);
  return {};
}

// --- rank 0 ---

class Master {
 public:
  Master(const Launch& launch, const core::LogSink& log, const std::stop_token& stop)
      : launch_(&launch),
        log_(&log),
        patience_(patience_of(launch, stop)),
        // On one machine nobody else needs to reach the port.
        listener_(listen_at(is_loopback(launch.master_address) ? launch.master_address : "", launch.master_port)),
        members_(static_cast<std::size_t>(launch.size)) {
    all_.sockets.resize(members_.size());
    all_.hosts.resize(members_.size());
    all_.hosts[0] = members_[0].host = host_name();
  }

  Connections gather() {
    Callers callers(listener_, *log_);
    const auto judge = [this](const Hello& hello, Socket& socket) { return admit(hello, socket); };
    while (!missing().empty()) {
      const int left = callers.listen(patience_, judge, present());
      if (left >= 0) fail_for(left);
      core::require(!patience_.is_over(), ErrorCode::kIo,
                    "{} of {} processes have not come to {}, port {}, within {} s: rank {}; look for what they say, "
                    "and whether they can reach this address",
                    missing().size(), launch_->size, launch_->master_address, launch_->master_port,
                    std::chrono::duration_cast<std::chrono::seconds>(launch_->join_timeout).count(),
                    fmt::join(missing(), ", "));
    }
    Welcome welcome{.token = draw_token(), .members = members_};
    const Bytes words = encode(welcome);
    for (int r = 1; r < launch_->size; ++r)
      all_.sockets[static_cast<std::size_t>(r)].write_all(words, patience_, fmt::format("rank {}", r));
    return std::move(all_);
  }

 private:
  std::string admit(const Hello& hello, Socket& socket) {
    if (!hello.to_master) return "it takes this for another rank than 0";
    if (hello.job != fingerprint_of_job(*launch_)) return "it belongs to another job";
    if (hello.size != static_cast<std::uint32_t>(launch_->size))
      return fmt::format("it was told of {} processes, and rank 0 of {}", hello.size, launch_->size);
    if (hello.rank == 0 || hello.rank >= hello.size)
      return fmt::format("it says that it is rank {} of {}", hello.rank, hello.size);
    const std::string address = socket.peer_address();
    std::string refusal = take(all_, hello, socket);
    if (refusal.empty()) members_[hello.rank] = {.address = address, .port = hello.port, .host = hello.host};
    return refusal;
  }

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int r = 1; r < launch_->size; ++r)
      if (!all_.sockets[static_cast<std::size_t>(r)].is_open()) ranks.push_back(r);
    return ranks;
  }

  std::vector<int> present() const {
    std::vector<int> sockets;
    for (const Socket& socket : all_.sockets)
      if (socket.is_open()) sockets.push_back(socket.number());
    return sockets;
  }

  /// Who has come says nothing more before it is answered: it has gone.
  [[noreturn]] void fail_for(int socket) const {
    const auto found = std::ranges::find(all_.sockets, socket, &Socket::number);
    const auto rank = found - all_.sockets.begin();
    core::fail(ErrorCode::kIo, "rank {} ({}) ended before all {} processes had come", rank,
               all_.hosts[static_cast<std::size_t>(rank)], launch_->size);
  }

  static Token draw_token() {
    std::random_device random;
    Token token;
    for (std::byte& byte : token) byte = static_cast<std::byte>(random());
    return token;
  }

  const Launch* launch_;
  const core::LogSink* log_;
  Patience patience_;
  Socket listener_;
  Connections all_;
  std::vector<Member> members_;
};

// --- the others ---

class Follower {
 public:
  Follower(const Launch& launch, const core::LogSink& log, const std::stop_token& stop)
      : launch_(&launch), log_(&log), patience_(patience_of(launch, stop)) {}

  Connections join() {
    all_.sockets.resize(static_cast<std::size_t>(launch_->size));
    const std::string whom = fmt::format("rank 0 at {}, port {},", launch_->master_address, launch_->master_port);
    Socket master = connect_to(launch_->master_address, launch_->master_port, patience_, "rank 0");
    // Reachable where rank 0 can reach it, and nowhere else.
    const Socket listener = listen_at(master.own_address(), 0);
    hello_.port = listener.own_port();
    hello_.rank = static_cast<std::uint32_t>(launch_->rank);
    hello_.size = static_cast<std::uint32_t>(launch_->size);
    hello_.job = fingerprint_of_job(*launch_);
    hello_.host = host_name();
    master.write_all(encode(hello_), patience_, whom);
    welcome_ = hear_answer(master, whom);
    // Rank 0 has the address by which it was found.
    welcome_.members[0].address = launch_->master_address;
    for (const Member& member : welcome_.members) all_.hosts.push_back(member.host);
    all_.sockets[0] = std::move(master);
    call_those_before();
    take_those_after(listener);
    return std::move(all_);
  }

 private:
  Welcome hear_answer(const Socket& master, const std::string& whom) const {
    std::array<std::byte, kWelcomePrefix> prefix{};
    master.read_all(prefix, patience_, whom);
    Welcome welcome;
    try {
      Bytes rest(length_of_welcome(prefix));
      master.read_all(rest, patience_, whom);
      welcome = decode_welcome(prefix, rest);
    } catch (const core::Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      core::fail(ErrorCode::kIo, "what listens at {}, port {}, is no rank 0 of this job: {}", launch_->master_address,
                 launch_->master_port, error.what());
    }
    core::require(welcome.refusal.empty(), ErrorCode::kIo, "{} does not let this process in: {}", whom,
                  welcome.refusal);
    core::require(welcome.members.size() == all_.sockets.size(), ErrorCode::kIo, "{} names {} processes in place of {}",
                  whom, welcome.members.size(), all_.sockets.size());
    return welcome;
  }

  void call_those_before() {
    Hello hello = hello_;
    hello.to_master = false;
    hello.token = welcome_.token;
    const Bytes words = encode(hello);
    for (int r = 1; r < launch_->rank; ++r) {
      const Member& member = welcome_.members[static_cast<std::size_t>(r)];
      const std::string whom = fmt::format("rank {} ({})", r, member.host);
      Socket& socket = all_.sockets[static_cast<std::size_t>(r)];
      socket = connect_to(member.address, member.port, patience_, whom);
      socket.write_all(words, patience_, whom);
    }
  }

  void take_those_after(const Socket& listener) {
    Callers callers(listener, *log_);
    int missing = launch_->size - launch_->rank - 1;
    const auto judge = [&](const Hello& hello, Socket& socket) -> std::string {
      if (hello.to_master || hello.token != welcome_.token || hello.job != hello_.job)
        return "it was not let in by rank 0";
      if (hello.rank <= hello_.rank || hello.rank >= hello_.size)
        return fmt::format("it says that it is rank {} of {}", hello.rank, hello_.size);
      std::string refusal = take(all_, hello, socket);
      if (refusal.empty()) --missing;
      return refusal;
    };
    while (missing > 0) {
      callers.listen(patience_, judge);
      core::require(!patience_.is_over(), ErrorCode::kIo,
                    "{} of the processes behind rank {} have not called it in time", missing, launch_->rank);
    }
  }

  const Launch* launch_;
  const core::LogSink* log_;
  Patience patience_;
  Hello hello_;
  Welcome welcome_;
  Connections all_;
};

}  // namespace

Connections join(const Launch& launch, const core::LogSink& log, const std::stop_token& stop) {
  return launch.rank == 0 ? Master(launch, log, stop).gather() : Follower(launch, log, stop).join();
}

}  // namespace tcp
}  // namespace dragoman::collective
