#include "server_fixture.h"

namespace dragoman::testing {
namespace {

using namespace server::http;
using DisconnectTest = ServerFixture;

TEST_F(DisconnectTest, AClientThatLeavesAtAnyStateIsForgotten) {
  start();
  const std::string text = post("/held", "some body");
  for (const bool reset : {false, true}) {
    for (std::size_t sent = 0; sent < text.size(); sent += 9) {
      RawClient one = client();
      one.send(std::string_view(text).substr(0, sent));
      if (reset) one.reset();
    }
  }
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
  EXPECT_EQ(server_->buffered_bytes(), 0u);
  EXPECT_EQ(handled_, 0);
}

TEST_F(DisconnectTest, LeavingStopsTheRequest) {
  start();
  for (const bool reset : {false, true}) {
    RawClient one = client();
    one.send(post("/held", "text"));
    Held& request = held(reset ? 1 : 0);
    EXPECT_FALSE(request.request.gone.stop_requested());
    EXPECT_EQ(server_->requests_in_flight(), 1u);
    if (reset)
      one.reset();
    else
      one.close();
    EXPECT_TRUE(eventually([&] { return request.request.gone.stop_requested(); }));
    request.reply.send({.status = 503});
    EXPECT_TRUE(eventually([&] { return server_->connections() == 0 && server_->requests_in_flight() == 0; }));
  }
}

TEST_F(DisconnectTest, LeavingEndsAStream) {
  start();
  RawClient one = client();
  one.send(get("/held"));
  Stream stream = held().reply.begin({});
  EXPECT_TRUE(stream.write("a"));
  EXPECT_NE(one.take_until("a"), "");
  one.close();
  EXPECT_TRUE(eventually([&] { return !stream.write("b"); }));
  EXPECT_TRUE(held().request.gone.stop_requested());
}

TEST_F(DisconnectTest, LeavingWhileTheAnswerIsWritten) {
  start();
  for (int i = 0; i < 5; ++i) {
    RawClient one = client();
    one.send(post("/large", "30000000"));
    EXPECT_NE(one.receive(), "");
    if (i % 2 == 0) one.reset();
  }
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

/// A quick answer reaches a client that has ended its side, as `printf ... | nc` does.
TEST_F(DisconnectTest, AnEndedSideIsLeavingButTheAnswerIsStillWritten) {
  start();
  RawClient one = client();
  one.send(get("/a"));
  one.end_sending();
  EXPECT_EQ(one.answer().body, "GET /a\n");
  RawClient two = client();
  two.send(get("/held"));
  two.end_sending();
  EXPECT_TRUE(eventually([&] { return held().request.gone.stop_requested(); }));
  held().reply.send({.status = 503, .body = "cancelled"});
  EXPECT_EQ(two.answer().body, "cancelled");
  EXPECT_TRUE(two.ends());
}

TEST_F(DisconnectTest, HalfClosedClientsWaitIfTheyMay) {
  Limits limits;
  limits.half_close = true;
  start(with(limits));
  RawClient one = client();
  one.send(get("/held") + get("/next"));
  one.end_sending();
  held();
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(held().request.gone.stop_requested());
  held().reply.send({.body = "waited"});
  EXPECT_EQ(one.answer().body, "waited");
  EXPECT_EQ(one.answer().body, "GET /next\n");
  EXPECT_TRUE(one.ends());
}

TEST_F(DisconnectTest, RepliesMayOutliveTheServer) {
  start();
  RawClient one = client();
  one.send(get("/held"));
  held();
  RawClient two = client();
  two.send(get("/held"));
  Stream stream = held(1).reply.begin({});
  server_.reset();
  EXPECT_TRUE(held().request.gone.stop_requested());
  held().reply.send({});
  EXPECT_TRUE(eventually([&] { return !stream.write("x"); }));
  EXPECT_TRUE(one.ends());
}

TEST_F(DisconnectTest, AServerThatWasNeverStartedEnds) {
  server_ = std::make_unique<HttpServer>(ServerSetup{}, [](Request, Reply) {});
  EXPECT_NE(server_->port(), 0);
  server_.reset();
}

class DrainTest : public ServerFixture {
 protected:
  std::thread drain(std::chrono::milliseconds bound) {
    return std::thread([this, bound] { in_time_ = server_->drain(bound); });
  }
  bool in_time_ = false;
};

TEST_F(DrainTest, FinishesWhatIsInFlight) {
  start();
  RawClient idle = client();
  idle.send(get("/a"));
  EXPECT_EQ(idle.answer().status, 200);
  RawClient busy = client();
  busy.send(get("/held"));
  held();
  RawClient half = client();
  half.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
  EXPECT_TRUE(eventually([&] { return server_->buffered_bytes() == 2; }));
  std::thread draining = drain(20s);
  EXPECT_TRUE(idle.ends());
  half.send("cd");
  EXPECT_EQ(half.answer().body, "POST /b\nabcd");
  EXPECT_THROW(
      {
        RawClient late = client();
        late.send(get("/a"));
        if (late.answer().status == 0) throw std::runtime_error("refused");
      },
      std::runtime_error);
  EXPECT_FALSE(held().request.gone.stop_requested());
  held().reply.send({.body = "finished"});
  const RawAnswer answer = busy.answer();
  EXPECT_EQ(answer.body, "finished");
  EXPECT_EQ(answer.fields.at("connection"), "close");
  busy.close();
  half.close();
  draining.join();
  EXPECT_TRUE(in_time_);
}

TEST_F(DrainTest, GivesUpAtItsBound) {
  Limits limits;
  limits.last_time = Limits::Seconds(0.2);
  start(with(limits));
  RawClient busy = client();
  busy.send(get("/held"));
  held();
  std::thread draining = drain(50ms);
  EXPECT_TRUE(eventually([&] { return held().request.gone.stop_requested(); }));
  draining.join();
  EXPECT_FALSE(in_time_);
  server_.reset();
}

}  // namespace
}  // namespace dragoman::testing
