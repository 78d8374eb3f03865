#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include <dragoman/core/json.h>
#include <dragoman/server/router.h>

namespace dragoman::server {

/// Keeps the answer to a request.
class KeptExchange final : public http::Exchange {
 public:
  void send(http::Response response) override { end(std::move(response)); }
  void begin(http::Response head) override {
    const std::lock_guard lock(mutex_);
    response_ = std::move(head);
  }
  bool write(std::string_view part) override {
    const std::lock_guard lock(mutex_);
    response_.body += part;
    ++parts_;
    return true;
  }
  void finish() override {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  http::Response wait() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return done_; }))
      throw std::runtime_error("no answer in a minute");
    return response_;
  }
  int parts() const { return parts_; }

 private:
  void end(http::Response response) {
    const std::lock_guard lock(mutex_);
    response_ = std::move(response);
    done_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  http::Response response_;
  bool done_ = false;
  int parts_ = 0;
};

/// Answers a request by the router's routes, as the server does.
inline http::Response ask(const http::Router& router, http::Request request) {
  const auto exchange = std::make_shared<KeptExchange>();
  router.serve(std::move(request), http::Reply(exchange));
  return exchange->wait();
}

inline http::Request request_of(const std::string& method, const std::string& path, const std::string& body = {},
                                const std::string& type = {}) {
  http::Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  if (!type.empty()) request.headers.set("Content-Type", type);
  return request;
}

inline const std::string kForm = "application/x-www-form-urlencoded";
inline const std::string kJson = "application/json";

inline core::Json json_of(const http::Response& response) {
  const core::ParsedJson parsed = core::try_parse_json(response.body);
  return parsed.problem.empty() ? parsed.tree : core::Json("not JSON: " + response.body);
}

}  // namespace dragoman::server
