#pragma once

#include "raw_client.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/server/http_server.h>

namespace dragoman::testing {

using namespace std::chrono_literals;

inline bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds patience = 20s) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

/// A server whose /echo answers method, path, query and body, and whose /held waits for the test.
class ServerFixture : public ::testing::Test {
 protected:
  struct Held {
    server::http::Request request;
    server::http::Reply reply;
  };

  void start(server::http::ServerSetup setup = {}) {
    setup.refused = [this](int status, std::string_view, std::string_view reason) {
      const std::lock_guard lock(mutex_);
      refusals_.push_back(std::to_string(status) + " " + std::string(reason));
    };
    server_ = std::make_unique<server::http::HttpServer>(
        std::move(setup), [this](auto request, auto reply) { handle(std::move(request), std::move(reply)); });
    server_->start();
  }
  static server::http::ServerSetup with(const server::http::Limits& limits) { return {.limits = limits}; }

  RawClient client() { return RawClient(server_->port()); }

  void handle(server::http::Request request, server::http::Reply reply) {
    ++handled_;
    if (request.path == "/held") {
      const std::lock_guard lock(mutex_);
      held_.push_back(std::make_unique<Held>(Held{std::move(request), std::move(reply)}));
      return;
    }
    if (request.path == "/throw") throw std::runtime_error("/secret/path broke");
    if (request.path == "/drop") return;
    if (request.path == "/large") {
      reply.send({.content_type = "text/plain", .body = std::string(std::stoul(request.body), 'x')});
      return;
    }
    std::string text = request.method + " " + request.path;
    for (const auto& [name, value] : request.query) text += " [" + name + "=" + value + "]";
    reply.send({.content_type = "text/plain", .body = text + "\n" + request.body});
  }

  /// Waits for the `index`th request to /held.
  Held& held(std::size_t index = 0) {
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex_);
      return held_.size() > index;
    }));
    const std::lock_guard lock(mutex_);
    return *held_.at(index);
  }
  std::vector<std::string> refusals() {
    const std::lock_guard lock(mutex_);
    return refusals_;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Held>> held_;
  std::vector<std::string> refusals_;
  std::atomic<int> handled_{0};
  std::unique_ptr<server::http::HttpServer> server_;
};

inline std::string get(std::string_view path, std::string_view more = {}) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(more) + "\r\n";
}
inline std::string post(std::string_view path, std::string_view body, std::string_view more = {}) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string(more) + "\r\n" + std::string(body);
}

}  // namespace dragoman::testing
