#include "ranks.h"
#include "socket.h"
#include "tcp_messages.h"

#include <sys/wait.h>

#include <csignal>
#include <latch>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::collective {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::free_port;
using ::testing::HasSubstr;
using testing::launch_of;
using testing::run_ranks;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TcpCollective, GathersAndBroadcastsTexts) {
  for (const int size : {1, 2, 4}) {
    const auto errors = run_ranks(size, [&](Collective& collective) {
      const auto text_of = [](int rank) { return std::string(static_cast<std::size_t>(rank) * 70000, 'a' + rank); };
      const std::vector<std::string> texts = collective.gather_texts(text_of(collective.rank()));
      ASSERT_EQ(texts.size(), static_cast<std::size_t>(size));
      for (int r = 0; r < size; ++r) EXPECT_EQ(texts[static_cast<std::size_t>(r)], text_of(r));
      const int last = size - 1;
      EXPECT_EQ(collective.broadcast_text(collective.rank() == last ? "from the last" : "not looked at", last),
                "from the last");
      EXPECT_FALSE(collective.host_of(last).empty());
      for (int i = 0; i < 100; ++i) collective.barrier();
      collective.close();
    });
    EXPECT_THAT(errors, Each(""));
  }
}

TEST(TcpCollective, ExchangesWhatEachHasForEach) {
  constexpr std::size_t kSize = 3;
  const auto errors = run_ranks(kSize, [&](Collective& collective) {
    const auto self = static_cast<std::size_t>(collective.rank());
    // Of other lengths for each pair, some none.
    const auto block = [](std::size_t from, std::size_t to) {
      return std::vector<std::byte>(from * 50000 + to * 7, static_cast<std::byte>(16 * from + to));
    };
    std::vector<std::vector<std::byte>> sent, received;
    std::vector<Collective::Bytes> outgoing;
    std::vector<Collective::Room> incoming;
    for (std::size_t r = 0; r < kSize; ++r) {
      sent.push_back(block(self, r));
      received.emplace_back(block(r, self).size());
    }
    for (std::size_t r = 0; r < kSize; ++r) {
      outgoing.emplace_back(sent[r]);
      incoming.emplace_back(received[r]);
    }
    collective.exchange(outgoing, incoming);
    for (std::size_t r = 0; r < kSize; ++r) {
      if (r != self) {
        EXPECT_EQ(received[r], block(r, self));
      }
    }
    collective.close();
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(TcpCollective, WhoGivesUpTellsTheOthersWhy) {
  const auto errors = run_ranks(3, [&](Collective& collective) {
    collective.barrier();
    if (collective.rank() == 1) {
      collective.abort(core::ErrorCode::kIo, "the disk is full");
      core::fail(core::ErrorCode::kIo, "own error");
    }
    try {
      collective.barrier();
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kIo);
      EXPECT_EQ(error_of([&] { collective.barrier(); }), error.what()) << "an error stays";
      throw;
    }
  });
  const auto message = AllOf(HasSubstr("rank 1 ("), HasSubstr("gave up: the disk is full"));
  EXPECT_THAT(errors, ElementsAre(message, "own error", message));
}

TEST(TcpCollective, WhoGoesWithoutAWordIsNamed) {
  const auto errors = run_ranks(3, [&](Collective& collective) {
    collective.barrier();
    if (collective.rank() != 2) collective.barrier();
  });
  // The first to see it may go before another does.
  EXPECT_THAT(errors[0] + errors[1], HasSubstr("rank 2 ("));
  EXPECT_THAT(errors[0], HasSubstr("has ended without a word"));
  EXPECT_THAT(errors[1], HasSubstr("has ended without a word"));
}

TEST(TcpCollective, AnotherThreadCanEndAnExchange) {
  std::latch ended(2);
  const auto errors = run_ranks(2, [&](Collective& collective) {
    if (collective.rank() == 1) {
      ended.arrive_and_wait();  // alive, and says nothing
      return;
    }
    std::jthread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      collective.abort(core::ErrorCode::kInternal, "no more");
    });
    const std::string error = error_of([&] { collective.barrier(); });
    ended.arrive_and_wait();
    EXPECT_THAT(error, HasSubstr("has given up"));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(TcpCollective, ProcessesThatDoNotDoTheSameAreTold) {
  const auto errors = run_ranks(2, [](Collective& collective) {
    std::string text(collective.rank() == 0 ? 5 : 6, '.');
    std::vector<Collective::Bytes> outgoing(2, bytes_of(std::span<const char>(text)));
    std::string room = text;
    const std::vector<Collective::Room> incoming(2, room_of(std::span(room)));
    collective.exchange(outgoing, incoming);
  });
  EXPECT_THAT(errors[0] + errors[1], HasSubstr("the processes do not do the same"));
}

/// A process of its own, since what a kernel does for one that is killed is what is meant.
TEST(TcpCollective, AKilledProcessEndsTheOthersAtOnce) {
  const std::uint16_t port = free_port();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto collective = join_tcp(launch_of(1, 2, port));
    collective->barrier();
    ::pause();
    ::_exit(0);
  }
  const auto collective = join_tcp(launch_of(0, 2, port));
  collective->barrier();
  std::jthread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(child, SIGKILL);
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(error_of([&] { collective->barrier(); }), HasSubstr("rank 1 ("));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  killer.join();
  ::waitpid(child, nullptr, 0);
}

// --- joining ---

TEST(TcpJoin, SaysWhoDidNotCome) {
  Launch launch = launch_of(0, 3, free_port());
  launch.join_timeout = std::chrono::milliseconds(300);
  EXPECT_THAT(error_of([&] { join_tcp(launch); }),
              AllOf(HasSubstr("2 of 3 processes have not come"), HasSubstr("rank 1, 2")));
}

TEST(TcpJoin, SaysThatNobodyAnswers) {
  Launch launch = launch_of(1, 2, free_port());
  launch.join_timeout = std::chrono::milliseconds(300);
  EXPECT_THAT(error_of([&] { join_tcp(launch); }), AllOf(HasSubstr("cannot reach rank 0"), HasSubstr("refused")));
  launch.master_address = "no-such-host.invalid";
  EXPECT_THAT(error_of([&] { join_tcp(launch); }), HasSubstr("cannot reach rank 0 at no-such-host.invalid"));
}

TEST(TcpJoin, SaysThatThePortIsTaken) {
  const tcp::Socket taken = tcp::listen_at("127.0.0.1", 0);
  EXPECT_THAT(error_of([&] { join_tcp(launch_of(0, 2, taken.own_port())); }),
              AllOf(HasSubstr("cannot listen"), HasSubstr("in use"), HasSubstr("MASTER_PORT")));
}

TEST(TcpJoin, AStrangeServerIsNoMaster) {
  const tcp::Socket server = tcp::listen_at("127.0.0.1", 0);
  std::jthread answer([&] {
    tcp::Socket caller;
    while (!caller.is_open()) caller = tcp::accept_from(server);
    const std::string words = "HTTP/1.1 400 Bad Request\r\n\r\n";
    caller.write_some(bytes_of(std::span(std::string_view(words))));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  EXPECT_THAT(error_of([&] { join_tcp(launch_of(1, 2, server.own_port())); }),
              HasSubstr("is no rank 0 of this job: that is none of dragoman's messages"));
}

TEST(TcpJoin, StopsWhenItIsAskedTo) {
  for (const int rank : {0, 1}) {
    std::stop_source stop;
    std::jthread asks([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      stop.request_stop();
    });
    try {
      join_tcp(launch_of(rank, 2, free_port()), {}, stop.get_token());
      FAIL() << "joined nobody";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kInterrupted);
    }
  }
}

TEST(TcpJoin, RefusesALaunchThatMakesNoSense) {
  Launch launch = launch_of(2, 2, 1000);
  EXPECT_THAT(error_of([&] { join_tcp(launch); }), HasSubstr("rank 2 of a job of 2"));
  launch = launch_of(0, 2, 0);
  EXPECT_THAT(error_of([&] { join_tcp(launch); }), HasSubstr("MASTER_PORT"));
}

/// Rank 0 as it hears strangers, and what it says of them.
class StrangersAtThePort : public ::testing::Test {
 protected:
  StrangersAtThePort() {
    master_ = std::jthread([this] {
      try {
        const core::LogSink log = [this](core::LogLevel, std::string_view text) {
          const std::lock_guard lock(mutex_);
          log_ += std::string(text) + "\n";
        };
        const auto collective = join_tcp(launch_of(0, 2, port_), log);
        collective->close();
      } catch (const core::Error& error) {
        error_ = error.what();
      }
    });
  }

  /// Sends something, and gives what comes back.
  std::string say(const std::string& words) const {
    const tcp::Patience patience{.end = tcp::Clock::now() + std::chrono::seconds(20)};
    const tcp::Socket socket = tcp::connect_to("127.0.0.1", port_, patience, "rank 0");
    socket.write_all(bytes_of(std::span(std::string_view(words))), patience, "rank 0");
    std::string heard;
    std::array<std::byte, 512> room{};
    while (true) {
      const auto moved = socket.read_some(room);
      if (moved.state == tcp::Socket::State::kEnded) return heard;
      heard.append(reinterpret_cast<const char*>(room.data()), moved.bytes);
      if (moved.state == tcp::Socket::State::kWait) socket.wait(false, patience);
    }
  }
  std::string introduce(const tcp::Hello& hello) const {
    const tcp::Bytes bytes = encode(hello);
    return say(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  void let_the_right_one_in() {
    const auto collective = join_tcp(launch_of(1, 2, port_));
    collective->close();
    master_.join();
    EXPECT_EQ(error_, "");
  }

  std::uint16_t port_ = free_port();
  std::mutex mutex_;
  std::string log_;
  std::string error_;
  std::jthread master_;
};

TEST_F(StrangersAtThePort, AreTurnedAwayAndHarmNobody) {
  say("GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: nobody\r\n\r\n");
  say(std::string(100000, '\xFF'));
  // One that says nothing at all stays until it is over.
  const tcp::Patience patience{.end = tcp::Clock::now() + std::chrono::seconds(20)};
  const tcp::Socket silent = tcp::connect_to("127.0.0.1", port_, patience, "rank 0");
  EXPECT_THAT(introduce({.rank = 1, .size = 2, .job = 7}), HasSubstr("another job"));
  const std::uint64_t job = [] {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : std::string_view("tests")) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return hash;
  }();
  EXPECT_THAT(introduce({.rank = 1, .size = 3, .job = job}), HasSubstr("was told of 3 processes, and rank 0 of 2"));
  EXPECT_THAT(introduce({.rank = 0, .size = 2, .job = job}), HasSubstr("it says that it is rank 0"));
  EXPECT_THAT(introduce({.rank = 5000, .size = 2, .job = job}), HasSubstr("it says that it is rank 5000"));
  let_the_right_one_in();
  EXPECT_THAT(log_, AllOf(HasSubstr("turned away a caller from 127.0.0.1: that is none of dragoman's messages"),
                          HasSubstr("another job")));
}

}  // namespace
}  // namespace dragoman::collective
