#include "error_message.h"
#include "test_data.h"

#include <fstream>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>
#include <dragoman/server/keys.h>
#include <dragoman/server/operation.h>

namespace dragoman::testing {
namespace {

using namespace server;
using http::Reply;
using http::Request;
using http::Response;
using ::testing::HasSubstr;
using ::testing::Not;

/// Keeps an answer.
class Recorder final : public http::Exchange {
 public:
  Response response;
  bool finished = false;
  void send(Response given) override { response = std::move(given); }
  void begin(Response head) override { response = std::move(head); }
  bool write(std::string_view part) override {
    response.body += part;
    return true;
  }
  void finish() override { finished = true; }
};

class OperationTest : public ::testing::Test {
 protected:
  void start(const ServerOptions& options = {}) {
    operation_ = std::make_unique<Operation>(
        options, OperationHooks{.log_line = [this](std::string line) { log_.push_back(std::move(line)); },
                                .reload = [this](const auto& done) { done(reload_problem_); }});
    operation_->router().add(
        {.method = "POST", .pattern = "/translate", .handler = [this](Request request, Reply reply) {
           seen_ = request;
           reply.send({.content_type = "text/plain", .body = "translated " + request.body});
         }});
    operation_->router().add({.method = "GET",
                              .pattern = "/files/{name}",
                              .handler = [](Request request, Reply reply) { reply.send({.body = request.parameter}); },
                              .access = http::Access::kOpen});
    operation_->router().add({.method = "POST",
                              .pattern = "/dialect",
                              .handler = [](Request, Reply reply) { reply.send({}); },
                              .find_key = [](const Request& request) { return std::string(request.query_value("k")); },
                              .refuse =
                                  [](const Request&, const http::Refusal& refusal) {
                                    return http::Response{.status = refusal.status == 401 ? 400 : 200,
                                                          .body = "no: " + refusal.reason};
                                  }});
    operation_->finish_routes();
  }

  Response ask(Request request) {
    const auto recorder = std::make_shared<Recorder>();
    request.peer = request.peer.empty() ? "192.0.2.1" : request.peer;
    operation_->handler()(std::move(request), Reply(recorder));
    return recorder->response;
  }
  Response post(http::Headers headers = {}, std::string body = "secret text") {
    Request request;
    request.method = "POST";
    request.path = "/translate";
    request.headers = std::move(headers);
    request.body = std::move(body);
    return ask(std::move(request));
  }
  Response get(std::string path, http::Headers headers = {}, std::string peer = {}) {
    Request request;
    request.method = "GET";
    request.path = std::move(path);
    request.headers = std::move(headers);
    request.peer = std::move(peer);
    return ask(std::move(request));
  }

  TemporaryFolder folder_;
  std::vector<std::string> log_;
  std::string reload_problem_;
  Request seen_;
  std::unique_ptr<Operation> operation_;
};

TEST_F(OperationTest, LogsARequestWithoutTextsPathsAndAddresses) {
  start();
  EXPECT_EQ(post().body, "translated secret text");
  Request strange;
  strange.method = "SECRET-METHOD-THAT-IS-LONG";
  strange.path = "/secret/path";
  EXPECT_EQ(ask(strange).status, 404);
  ASSERT_EQ(log_.size(), 2u);
  const core::Json line = core::parse_json(log_[0], "log");
  EXPECT_EQ(line["method"], "POST");
  EXPECT_EQ(line["route"], "/translate");
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["bytes_in"], 11);
  EXPECT_EQ(line["bytes_out"], 22);
  EXPECT_THAT(log_[0] + log_[1], Not(HasSubstr("secret")));
  EXPECT_THAT(log_[0] + log_[1], Not(HasSubstr("192.0.2.1")));
  EXPECT_EQ(core::parse_json(log_[1], "log")["route"], "other");
}

TEST_F(OperationTest, LogsTextsIfItIsToldTo) {
  start({.log_texts = true, .log_addresses = true});
  post({},
       "gr\xC3\xBC\xC3\x9F"
       "e\xFF");
  const core::Json line = core::parse_json(log_.at(0), "log");
  EXPECT_EQ(line["request"],
            "gr\xC3\xBC\xC3\x9F"
            "e\xEF\xBF\xBD");
  EXPECT_THAT(line["answer"].get<std::string>(), HasSubstr("translated"));
  EXPECT_EQ(line["address"], "192.0.2.1");
  EXPECT_EQ(line["path"], "/translate");
}

TEST_F(OperationTest, KeysAreNeededWhereThereAreKeys) {
  const std::string file = folder_ / "keys.yml";
  const std::string alice = add_key(file, {.name = "alice", .requests_per_minute = 2, .character_limit = 200});
  const std::string bob = add_key(file, {.name = "bob"});
  start({.keys = file, .character_limit = 100});
  const Response missing = post();
  EXPECT_EQ(missing.status, 401);
  EXPECT_EQ(missing.headers.get("WWW-Authenticate"), "Bearer");
  EXPECT_THAT(missing.body, HasSubstr("needs a key"));
  EXPECT_EQ(post({{"Authorization", "Bearer " + alice + "x"}}).status, 403);
  EXPECT_EQ(post({{"X-API-Key", bob}}).status, 200);
  EXPECT_EQ(seen_.key, "bob");
  EXPECT_EQ(seen_.character_limit, 100u);
  EXPECT_EQ(post({{"Authorization", "Bearer " + alice}}).status, 200);
  EXPECT_EQ(seen_.key, "alice");
  EXPECT_EQ(seen_.caller, "key alice");
  EXPECT_EQ(seen_.character_limit, 200u) << "more than callers without a limit of their own";
  EXPECT_EQ(post({{"Authorization", "Bearer " + alice}}).status, 200);
  const Response many = post({{"Authorization", "Bearer " + alice}});
  EXPECT_EQ(many.status, 429);
  EXPECT_THAT(std::string(many.headers.get("Retry-After")), ::testing::AnyOf("29", "30"));
  EXPECT_EQ(post({{"X-API-Key", bob}}).status, 200) << "bob has no limit";
  EXPECT_EQ(get("/files/a").status, 200) << "an open route";
  EXPECT_THAT(log_.back() + log_.at(2), HasSubstr("\"key\":\"bob\""));
  for (const std::string& line : log_) EXPECT_THAT(line, Not(HasSubstr(alice.substr(3))));
}

TEST_F(OperationTest, DialectsFindKeysAndWordRefusals) {
  const std::string file = folder_ / "keys.yml";
  const std::string key = add_key(file, {.name = "alice", .requests_per_minute = 1});
  start({.keys = file});
  Request request;
  request.method = "POST";
  request.path = "/dialect";
  EXPECT_EQ(ask(request).status, 400) << "a dialect's own status";
  EXPECT_THAT(ask(request).body, HasSubstr("no: this server needs a key"));
  request.query = {{"k", "wrong"}};
  EXPECT_EQ(ask(request).status, 403) << "from the refusal";
  request.query = {{"k", key}};
  EXPECT_EQ(ask(request).status, 200);
  EXPECT_EQ(ask(request).status, 429);
}

TEST_F(OperationTest, EveryDialectAcceptsKeysInHeaders) {
  const std::string file = folder_ / "keys.yml";
  const std::string key = add_key(file, {.name = "alice"});
  start({.keys = file});
  Request request;
  request.method = "POST";
  request.path = "/dialect";
  const auto with = [&](http::Headers headers) {
    request.headers = std::move(headers);
    return ask(request).status;
  };
  EXPECT_EQ(with({{"X-API-Key", key}}), 200);
  EXPECT_EQ(with({{"Authorization", "Bearer " + key}}), 200);
  EXPECT_EQ(with({{"authorization", "bearer " + key}}), 200) << "the scheme has no case (RFC 9110)";
  EXPECT_EQ(with({{"Authorization", "Basic abc"}, {"X-API-Key", key}}), 200);
  EXPECT_EQ(with({{"X-API-Key", "wrong"}}), 403);
  request.query = {{"k", "wrong"}};
  EXPECT_EQ(with({{"X-API-Key", key}}), 403) << "the dialect's own place comes first";
}

TEST_F(OperationTest, AddressesWithoutKeysHaveALimit) {
  start({.requests_per_minute = 1});
  EXPECT_EQ(post().status, 200);
  EXPECT_EQ(post().status, 429);
  const auto from = [&](const std::string& peer) {
    Request request;
    request.method = "POST";
    request.path = "/translate";
    request.peer = peer;
    return ask(request).status;
  };
  EXPECT_EQ(from("192.0.2.2"), 200);
  EXPECT_EQ(from("2001:db8:1:2::1"), 200);
  EXPECT_EQ(from("2001:db8:1:2:ffff::2"), 429) << "the same network";
  EXPECT_EQ(seen_.caller, "address 2001:db8:1:2::");
  EXPECT_EQ(from("2001:db8:1:3::1"), 200);
  EXPECT_EQ(from("2001:db8::1"), 200);
  EXPECT_EQ(from("2001:db8:0:0:ffff::2"), 429) << "the same network";
}

TEST_F(OperationTest, KeysAreReadAgain) {
  const std::string file = folder_ / "keys.yml";
  const std::string alice = add_key(file, {.name = "alice"});
  start({.keys = file});
  const std::string bob = add_key(file, {.name = "bob"});
  EXPECT_EQ(post({{"X-API-Key", bob}}).status, 403);
  const auto use = operation_->prepare_keys();
  EXPECT_EQ(post({{"X-API-Key", bob}}).status, 403) << "not before they are used";
  use();
  EXPECT_EQ(post({{"X-API-Key", bob}}).status, 200);
  std::ofstream(file) << "keys: {}\n";
  EXPECT_THROW(static_cast<void>(operation_->prepare_keys()), core::Error);
  EXPECT_EQ(post({{"X-API-Key", alice}}).status, 200) << "the old ones stay";
}

TEST_F(OperationTest, CorsIsAsConfigured) {
  const auto preflight = [&](const std::string& origin) {
    Request request;
    request.method = "OPTIONS";
    request.path = "/translate";
    request.headers = {{"Origin", origin}, {"Access-Control-Request-Method", "POST"}};
    return ask(request);
  };
  start();
  EXPECT_FALSE(post({{"Origin", "https://a.org"}}).headers.has("Access-Control-Allow-Origin"));
  EXPECT_FALSE(preflight("https://a.org").headers.has("Access-Control-Allow-Origin"));
  start({.allow_origin = {"https://a.org"}});
  EXPECT_EQ(post({{"Origin", "https://a.org"}}).headers.get("Access-Control-Allow-Origin"), "https://a.org");
  EXPECT_EQ(post({{"Origin", "https://a.org"}}).headers.get("Vary"), "Origin");
  EXPECT_FALSE(post({{"Origin", "https://b.org"}}).headers.has("Access-Control-Allow-Origin"));
  const Response answer = preflight("https://a.org");
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.headers.get("Access-Control-Allow-Methods"), "OPTIONS, POST");
  start({.allow_origin = {"*"}});
  EXPECT_EQ(post().headers.get("Access-Control-Allow-Origin"), "*");
}

TEST_F(OperationTest, MetricsCountByRouteAndClass) {
  start();
  operation_->metrics().add("dragoman_queue_characters", Metrics::Kind::kGauge, "Characters.", [] { return 42.0; });
  post();
  post();
  get("/secret");
  EXPECT_EQ(get("/metrics").status, 401) << "not from another machine";
  const Response response = get("/metrics", {}, "127.0.0.1");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.content_type, HasSubstr("version=0.0.4"));
  EXPECT_THAT(response.body, HasSubstr("dragoman_http_requests_total{route=\"/translate\",status=\"2xx\"} 2\n"));
  EXPECT_THAT(response.body, HasSubstr("dragoman_http_requests_total{route=\"other\",status=\"4xx\"} 1\n"));
  EXPECT_THAT(response.body, HasSubstr("dragoman_http_request_seconds_count{route=\"/translate\"} 2\n"));
  EXPECT_THAT(response.body, HasSubstr("dragoman_http_request_seconds_bucket{route=\"/translate\",le=\"+Inf\"} 2\n"));
  EXPECT_THAT(response.body, HasSubstr("dragoman_queue_characters 42\n"));
  EXPECT_THAT(response.body, Not(HasSubstr("secret")));
  start({.metrics_token = "t0ken"});
  EXPECT_EQ(get("/metrics", {}, "127.0.0.1").status, 401);
  EXPECT_EQ(get("/metrics", {{"Authorization", "Bearer t0ken"}}).status, 200);
}

TEST_F(OperationTest, ReloadsOnAnAuthorisedCall) {
  start({.admin_token = "t0ken"});
  Request request;
  request.method = "POST";
  request.path = "/admin/reload";
  EXPECT_EQ(ask(request).status, 401);
  request.headers = {{"Authorization", "Bearer t0ken"}};
  EXPECT_EQ(ask(request).status, 200);
  reload_problem_ = "/models/secret: is gone";
  EXPECT_EQ(ask(request).status, 500);
  EXPECT_THAT(ask(request).body, Not(HasSubstr("secret")));
  start();
  EXPECT_EQ(ask(request).status, 404);
}

TEST_F(OperationTest, ADroppedReplyIsCountedAs500) {
  start();
  operation_->router().add({.method = "GET", .pattern = "/drop", .handler = [](Request, Reply) {}});
  EXPECT_EQ(get("/drop").status, 500);
  EXPECT_EQ(core::parse_json(log_.back(), "log")["status"], 500);
}

TEST_F(OperationTest, AStreamIsLoggedWhenItEnds) {
  start();
  std::optional<http::Stream> stream;
  operation_->router().add({.method = "GET", .pattern = "/stream", .handler = [&](Request, Reply reply) {
                              stream = reply.begin({.body = "ab"});
                            }});
  get("/stream");
  EXPECT_TRUE(log_.empty());
  EXPECT_TRUE(stream->write("cde"));
  stream.reset();
  EXPECT_EQ(core::parse_json(log_.at(0), "log")["bytes_out"], 5);
}

}  // namespace
}  // namespace dragoman::testing
