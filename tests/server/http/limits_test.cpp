#include "server_fixture.h"

#include <sys/resource.h>

#include <algorithm>

#include <dragoman/core/resident_memory.h>

namespace dragoman::testing {
namespace {

using namespace server::http;

class LimitsTest : public ServerFixture {
 protected:
  /// Times that a test can wait for.
  static Limits quick() {
    Limits limits;
    limits.head_time = limits.body_time = limits.idle_time = Limits::Seconds(0.3);
    limits.last_time = Limits::Seconds(0.3);
    limits.least_rate = 1e6;
    limits.connections_per_address = 0;
    return limits;
  }
};

TEST_F(LimitsTest, SlowHeadsGet408) {
  start(with(quick()));
  RawClient one = client();
  const auto start_time = std::chrono::steady_clock::now();
  const std::string text = get("/a", "X: " + std::string(1000, 'y') + "\r\n");
  RawAnswer answer;
  for (const char byte : text) {
    one.send({&byte, 1});
    if (!one.receive(10ms).empty()) break;
  }
  EXPECT_TRUE(one.ends());
  EXPECT_LT(std::chrono::steady_clock::now() - start_time, 9s) << "a byte now and then does not prolong it";
  ASSERT_EQ(refusals().size(), 1u);
  EXPECT_TRUE(refusals()[0].starts_with("408"));
}

TEST_F(LimitsTest, SlowBodiesGet408) {
  start(with(quick()));
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc");
  EXPECT_EQ(one.answer().status, 408);
  EXPECT_TRUE(one.ends());
  EXPECT_EQ(handled_, 0);
}

TEST_F(LimitsTest, ABodyThatKeepsComingMayTakeLonger) {
  Limits limits = quick();
  limits.least_rate = 10;
  start(with(limits));
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n");
  for (int i = 0; i < 10; ++i) {
    one.send("ab");
    std::this_thread::sleep_for(60ms);
  }
  EXPECT_EQ(one.answer().status, 200);
}

TEST_F(LimitsTest, IdleConnectionsAreClosedSilently) {
  start(with(quick()));
  RawClient silent = client();
  RawClient one = client();
  one.send(get("/a"));
  EXPECT_EQ(one.answer().status, 200);
  EXPECT_TRUE(one.ends());
  EXPECT_TRUE(silent.ends());
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  EXPECT_TRUE(refusals().empty());
}

TEST_F(LimitsTest, LongUrlsWorkAndLongerOnesDoNot) {
  start();
  RawClient one = client();
  one.send(get("/a?q=" + std::string(64 * 1024, 'x')));
  EXPECT_EQ(one.answer().status, 200);
  one.send(get("/a?q=" + std::string(100 * 1024, 'x')));
  EXPECT_EQ(one.answer().status, 414);
  EXPECT_TRUE(one.ends());
  RawClient other = client();
  other.send(get("/a", "X: " + std::string(100 * 1024, 'x') + "\r\n"));
  EXPECT_EQ(other.answer().status, 431);
}

TEST_F(LimitsTest, ALargeBodyIsAnsweredBeforeItIsRead) {
  Limits limits;
  limits.body_bytes = 1000;
  start(with(limits));
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n");
  for (int i = 0; i < 20 && one.send(std::string(50'000, 'x')); ++i) {
  }
  EXPECT_EQ(one.answer().status, 413) << "although the client was still sending";
  RawClient chunked = client();
  chunked.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) chunked.send("190\r\n" + std::string(400, 'x') + "\r\n");
  EXPECT_EQ(chunked.answer().status, 413);
  EXPECT_EQ(handled_, 0);
}

TEST_F(LimitsTest, MemoryOfAllRequestsIsBounded) {
  Limits limits;
  limits.buffered_bytes = 100'000;
  start(with(limits));
  RawClient holder = client();
  holder.send(post("/held", std::string(90'000, 'x')));
  held();
  EXPECT_GE(server_->buffered_bytes(), 90'000u);
  RawClient one = client();
  one.send(post("/a", std::string(20'000, 'x')));
  const RawAnswer answer = one.answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.fields.at("retry-after"), "1");
  held().reply.send({});
  EXPECT_EQ(holder.answer().status, 200);
  EXPECT_TRUE(eventually([&] { return server_->buffered_bytes() == 0; }));
}

TEST_F(LimitsTest, AnAnswerThatNobodyReadsCountsAsMemoryAndGivesWay) {
  Limits limits;
  limits.buffered_bytes = 20'000'000;
  start(with(limits));
  RawClient lazy = client();
  lazy.send(post("/large", "40000000"));
  EXPECT_TRUE(eventually([&] { return server_->buffered_bytes() > 20'000'000; }));
  RawClient one = client();
  one.send(get("/a"));
  EXPECT_EQ(one.answer().status, 200);
  EXPECT_TRUE(eventually([&] { return server_->buffered_bytes() == 0; }));
  EXPECT_LT(lazy.answer().body.size(), 40'000'000u) << "the connection was closed";
}

TEST_F(LimitsTest, TheLargestUnfinishedRequestGivesWayToASmallOne) {
  Limits limits;
  limits.buffered_bytes = 100'000;
  start(with(limits));
  RawClient smaller = client();
  smaller.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 40000\r\n\r\n" + std::string(39'000, 'x'));
  ASSERT_TRUE(eventually([&] { return server_->buffered_bytes() >= 39'000; }));
  RawClient larger = client();
  larger.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n" + std::string(59'000, 'x'));
  ASSERT_TRUE(eventually([&] { return server_->buffered_bytes() >= 98'000; }));
  RawClient one = client();
  one.send(post("/a", std::string(20'000, 'x')));
  EXPECT_EQ(one.answer().status, 200);
  EXPECT_EQ(larger.answer().status, 503)
      << "it has the most bytes, and its client may send the last one in half an hour";
  smaller.send(std::string(1'000, 'x'));
  EXPECT_EQ(smaller.answer().status, 200);
}

TEST_F(LimitsTest, TheOldestIdleConnectionGivesWay) {
  Limits limits;
  limits.connections = 3;
  start(with(limits));
  RawClient busy = client();
  busy.send(get("/held"));
  held();
  RawClient first = client(), second = client();
  // An answer may arrive before the server has noted that its connection is idle again.
  const auto idle = [&] {
    EXPECT_TRUE(eventually([&] { return server_->requests_in_flight() == 1; }));
    std::this_thread::sleep_for(50ms);
  };
  first.send(get("/a"));
  EXPECT_EQ(first.answer().status, 200);
  idle();
  second.send(get("/a"));
  EXPECT_EQ(second.answer().status, 200);
  idle();
  RawClient third = client();
  third.send(get("/a"));
  EXPECT_EQ(third.answer().status, 200);
  EXPECT_TRUE(first.ends());
  second.send(get("/b"));
  EXPECT_EQ(second.answer().status, 200);
  held().reply.send({});
  EXPECT_EQ(busy.answer().status, 200);
}

TEST_F(LimitsTest, BusyConnectionsStayAndNewOnesGo) {
  Limits limits;
  limits.connections = 1;
  start(with(limits));
  RawClient busy = client();
  busy.send(get("/held"));
  held();
  RawClient one = client();
  EXPECT_TRUE(one.ends());
  held().reply.send({});
  EXPECT_EQ(busy.answer().status, 200);
}

TEST_F(LimitsTest, AnAddressHasItsShare) {
  Limits limits;
  limits.connections_per_address = 2;
  start(with(limits));
  RawClient first = client(), second = client();
  first.send(get("/a"));
  second.send(get("/a"));
  EXPECT_EQ(first.answer().status + second.answer().status, 400);
  EXPECT_TRUE(client().ends());
  RawClient other(server_->port(), "127.0.0.2");
  other.send(get("/a"));
  EXPECT_EQ(other.answer().status, 200);
  first.close();
  EXPECT_TRUE(eventually([&] {
    RawClient again = client();
    again.send(get("/a"));
    return again.answer().status == 200;
  }));
}

TEST_F(LimitsTest, AClientThatNeverReadsIsCutOff) {
  start(with(quick()));
  RawClient one = client();
  one.send(post("/large", "50000000"));
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(LimitsTest, AStreamForAClientThatNeverReadsIsBounded) {
  Limits limits;
  limits.stream_bytes = 100'000;
  start(with(limits));
  RawClient one = client();
  one.send(get("/held"));
  Stream stream = held().reply.begin({});
  const std::string part(10'000, 'x');
  std::size_t written = 0;
  while (written < 200'000'000 && stream.write(part)) written += part.size();
  EXPECT_LT(written, 200'000'000u);
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  EXPECT_TRUE(held().request.gone.stop_requested());
}

TEST_F(LimitsTest, PipelinedRequestsAreReadAheadToABound) {
  Limits limits;
  limits.pipelined_bytes = 10'000;
  start(with(limits));
  RawClient one = client();
  one.send(get("/held"));
  held();
  std::string many;
  for (int i = 0; i < 2000; ++i) many += get("/a");
  std::thread sender([&] { one.send(many); });
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(server_->buffered_bytes(), 20'000u);
  held().reply.send({.body = "held"});
  EXPECT_EQ(one.answer().body, "held");
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(one.answer().body, "GET /a\n");
  sender.join();
}

TEST_F(LimitsTest, ARequestThatIsNotAnsweredInTimeIsCancelledAndGets504) {
  Limits limits = quick();
  limits.request_time = Limits::Seconds(0.1);
  start(with(limits));
  RawClient one = client();
  one.send(get("/held"));
  Held& request = held();
  EXPECT_TRUE(eventually([&] { return request.request.gone.stop_requested(); }));
  EXPECT_EQ(one.answer().status, 504);
  RawClient other = client();
  other.send(get("/held"));
  Held& obedient = held(1);
  EXPECT_TRUE(eventually([&] { return obedient.request.gone.stop_requested(); }));
  obedient.reply.send({.status = 503, .body = "stopped"});
  EXPECT_EQ(other.answer().body, "stopped");
}

/// A thousand silent connections cost others nothing, and little memory.
TEST_F(LimitsTest, IdleConnectionsDoNotDelayOthers) {
  constexpr int kConnections = 1000;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 2 * kConnections + 100) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 2 * kConnections + 100);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  if (files.rlim_cur < 2 * kConnections + 100) GTEST_SKIP() << "the system allows too few files";
  Limits limits;
  limits.connections_per_address = 0;
  start(with(limits));
  RawClient one = client();
  const auto median = [&] {
    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < 101; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      one.send(get("/a"));
      EXPECT_EQ(one.answer().status, 200);
      times.push_back(std::chrono::steady_clock::now() - begin);
    }
    std::ranges::sort(times);
    return times[50];
  };
  const auto before = median();
  std::vector<RawClient> idle;
  for (int i = 0; i < kConnections; ++i) {
    idle.push_back(client());
    if (i % 2 == 0) idle.back().send("GET /slow HTTP/1.1\r\nHo");
  }
  EXPECT_TRUE(eventually([&] { return server_->connections() == kConnections + 1; }));
  EXPECT_LT(median(), 20 * before + 5ms) << "the machine of a test may be busy";
  EXPECT_LT(server_->buffered_bytes(), kConnections * 100u);
}

}  // namespace
}  // namespace dragoman::testing
