#include "server_fixture.h"

#include <dragoman/core/error.h>
#include <dragoman/server/router.h>

namespace dragoman::testing {
namespace {

using namespace server::http;
using HttpServerTest = ServerFixture;

TEST_F(HttpServerTest, AnswersRequestsOfOneConnectionInTheirOrder) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/a?x=1") + post("/b", "hello") + get("/held") + get("/c")));
  EXPECT_EQ(one.answer().body, "GET /a [x=1]\n");
  EXPECT_EQ(one.answer().body, "POST /b\nhello");
  held().reply.send({.body = "third"});
  EXPECT_EQ(one.answer().body, "third");
  const RawAnswer last = one.answer();
  EXPECT_EQ(last.body, "GET /c\n");
  EXPECT_EQ(last.fields.at("connection"), "keep-alive");
  EXPECT_EQ(last.fields.at("content-type"), "text/plain");
}

TEST_F(HttpServerTest, TakesBytesOneByOne) {
  start();
  RawClient one = client();
  for (const char byte : post("/echo", "grüße") + get("/next")) ASSERT_TRUE(one.send({&byte, 1}));
  EXPECT_EQ(one.answer().body, "POST /echo\ngrüße");
  EXPECT_EQ(one.answer().body, "GET /next\n");
}

TEST_F(HttpServerTest, ClosesIfTheClientAsksForItAndForHttp10) {
  start();
  RawClient one = client();
  one.send(get("/a", "Connection: close\r\n"));
  EXPECT_EQ(one.answer().fields.at("connection"), "close");
  EXPECT_TRUE(one.ends());
  RawClient old = client();
  old.send("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.answer().status, 200);
  EXPECT_TRUE(old.ends());
  RawClient kept = client();
  kept.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.answer().fields.at("connection"), "keep-alive");
}

TEST_F(HttpServerTest, AHeadHasTheLengthButNoBody) {
  start();
  RawClient one = client();
  one.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + get("/b"));
  EXPECT_EQ(one.answer(true).fields.at("content-length"), "8");
  EXPECT_EQ(one.answer().body, "GET /b\n");
}

TEST_F(HttpServerTest, TellsAWaitingClientToContinue) {
  start();
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(one.answer().status, 100);
  one.send("hi");
  EXPECT_EQ(one.answer().body, "POST /a\nhi");
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(one.answer().status, 413);
}

TEST_F(HttpServerTest, MalformedRequestsAreAnsweredAndTheConnectionCloses) {
  start();
  for (const std::string& text :
       {post("/a", "x", "Transfer-Encoding: chunked\r\n"), std::string("\x16\x03\x01 TLS\r\n\r\n"),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")}) {
    RawClient one = client();
    one.send(text + get("/smuggled"));
    const RawAnswer answer = one.answer();
    EXPECT_EQ(answer.status, 400);
    EXPECT_TRUE(answer.body.starts_with("{\"error\":\"")) << answer.body;
    EXPECT_EQ(answer.fields.at("content-type"), "application/json");
    EXPECT_EQ(answer.fields.at("connection"), "close");
    EXPECT_TRUE(one.ends());
  }
  EXPECT_EQ(handled_, 0);
  EXPECT_EQ(refusals().size(), 3u);
}

TEST_F(HttpServerTest, AHandlerThatFailsGives500WithoutItsReason) {
  start();
  RawClient one = client();
  for (const char* path : {"/throw", "/drop"}) {
    one.send(get(path));
    const RawAnswer answer = one.answer();
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.body.find("secret"), std::string::npos);
  }
  one.send(get("/a"));
  EXPECT_EQ(one.answer().status, 200) << "the connection goes on";
}

TEST_F(HttpServerTest, ALargeAnswerArrivesWhole) {
  start();
  RawClient one = client();
  one.send(post("/large", "20000000") + get("/next"));
  EXPECT_EQ(one.answer().body, std::string(20'000'000, 'x'));
  EXPECT_EQ(one.answer().body, "GET /next\n");
}

TEST_F(HttpServerTest, FieldsOfAHandlerCannotBeginOthers) {
  start();
  RawClient one = client();
  one.send(get("/held"));
  held().reply.send(
      {.headers = {{"X-Good", "a"}, {"X-Bad", "a\r\nInjected: b"}, {"Content-Length", "5"}, {"Bad name", "x"}},
       .content_type = "text/plain\r\nInjected: c",
       .body = "abc"});
  const RawAnswer answer = one.answer();
  EXPECT_EQ(answer.fields.at("x-good"), "a");
  EXPECT_EQ(answer.fields.count("injected") + answer.fields.count("x-bad") + answer.fields.count("bad name"), 0u);
  EXPECT_EQ(answer.body, "abc");
}

TEST_F(HttpServerTest, StreamsArriveAsTheyAreWritten) {
  start();
  RawClient one = client();
  one.send(get("/held") + get("/next"));
  Stream stream = held().reply.begin({.content_type = "text/event-stream", .body = "first\n"});
  one.take_until("first\n");
  EXPECT_TRUE(stream.write("second\n"));
  EXPECT_NE(one.take_until("second\n"), "");
  stream.finish();
  EXPECT_NE(one.take_until("0\r\n\r\n"), "");
  EXPECT_EQ(one.answer().body, "GET /next\n");
  EXPECT_FALSE(stream.write("late"));
}

TEST_F(HttpServerTest, AStreamForHttp10EndsWithTheConnection) {
  start();
  RawClient one = client();
  one.send("GET /held HTTP/1.0\r\n\r\n");
  {
    Stream stream = held().reply.begin({});
    stream.write("some text");
  }
  EXPECT_EQ(one.answer().body, "some text");
  EXPECT_TRUE(one.ends());
}

TEST_F(HttpServerTest, OnlyTheFirstAnswerCounts) {
  start();
  RawClient one = client();
  one.send(get("/held"));
  Held& request = held();
  request.reply.send({.body = "first"});
  request.reply.send({.body = "second"});
  EXPECT_FALSE(request.reply.begin({}).write("third"));
  EXPECT_EQ(one.answer().body, "first");
  one.send(get("/a"));
  EXPECT_EQ(one.answer().body, "GET /a\n");
}

TEST_F(HttpServerTest, ARefusedAddressNamesHostAndPort) {
  start();
  try {
    HttpServer second({.port = server_->port()}, [](Request, Reply) {});
    FAIL() << "the port was taken";
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:" + std::to_string(server_->port())), std::string::npos);
  }
  EXPECT_THROW(HttpServer({.host = "no.such.host.invalid"}, [](Request, Reply) {}), core::Error);
}

TEST_F(HttpServerTest, TheClientBehindAProxyIsTheLastAddressThatIsNotTrusted) {
  start({.trusted_proxies = {"127.0.0.1", "10.0.0.1"}});
  RawClient one = client();
  one.send(get("/held", "X-Forwarded-For: 1.2.3.4, 5.6.7.8, 10.0.0.1\r\n"));
  EXPECT_EQ(held().request.peer, "5.6.7.8");
  EXPECT_FALSE(held().request.secure);
  held().reply.send({});
  RawClient stranger(server_->port(), "127.0.0.2");
  stranger.send(get("/held", "X-Forwarded-For: 1.2.3.4\r\n"));
  EXPECT_EQ(held(1).request.peer, "127.0.0.2");
}

TEST(ClientNetwork, HasTheAddressesOfOneClient) {
  EXPECT_EQ(client_network("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(client_network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
  EXPECT_EQ(client_network("2001:db8::6"), "2001:db8::");
  EXPECT_EQ(client_network("2001:db8:0:0:1::"), "2001:db8::");
  EXPECT_EQ(client_network(""), "");
}

TEST(Router, AnswersWhatNoRouteHas) {
  Router router;
  const auto named = [](std::string name) {
    return [name](Request request, Reply reply) { reply.send({.body = name + request.parameter}); };
  };
  router.add({.method = "GET", .pattern = "/files/{name}", .handler = named("file ")});
  router.add({.method = "GET", .pattern = "/files/own", .handler = named("own")});
  router.add({.method = "POST", .pattern = "/files/own", .handler = named("posted")});
  EXPECT_THROW(router.add({.method = "GET", .pattern = "/files/own", .handler = named("")}), core::Error);
  for (const char* pattern : {"/a{name}", "/{name}/{name}", "files", "/a?b"})
    EXPECT_THROW(router.add({.method = "GET", .pattern = pattern, .handler = named("")}), core::Error) << pattern;
  struct Recorder : Exchange {
    Response response;
    void send(Response given) override { response = std::move(given); }
    void begin(Response) override {}
    bool write(std::string_view) override { return false; }
    void finish() override {}
  };
  const auto ask = [&](std::string method, std::string path) {
    auto recorder = std::make_shared<Recorder>();
    Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    router.serve(std::move(request), Reply(recorder));
    return recorder->response;
  };
  EXPECT_EQ(ask("GET", "/files/a").body, "file a");
  EXPECT_EQ(ask("HEAD", "/files/own").body, "own");
  EXPECT_EQ(ask("POST", "/files/own").body, "posted");
  EXPECT_EQ(ask("GET", "/files/").status, 404);
  EXPECT_EQ(ask("GET", "/files/a/b").status, 404);
  EXPECT_EQ(ask("DELETE", "/files/own").status, 405);
  EXPECT_EQ(ask("DELETE", "/files/own").headers.get("allow"), "GET, HEAD, OPTIONS, POST");
  EXPECT_EQ(ask("OPTIONS", "/files/a").status, 204);
  EXPECT_EQ(ask("OPTIONS", "/files/a").headers.get("allow"), "GET, HEAD, OPTIONS");
}

}  // namespace
}  // namespace dragoman::testing
