#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <dragoman/server/http_server.h>
#include <dragoman/server/metrics.h>
#include <dragoman/server/router.h>
#include <dragoman/server/server_options.h>

namespace dragoman::server {

/// The functions that a program passes to an Operation.
struct OperationHooks {
  /// Receives each line of the log, without its line feed. Called from any thread, and must not block. Called for as
  /// long as there are replies, which may outlive the operation.
  std::function<void(std::string line)> log_line{};
  /// Loads models, keys and certificate again and calls `done` with the reason if that failed, or with "". Must not
  /// block. Empty: POST /admin/reload is not offered.
  std::function<void(std::function<void(std::string problem)> done)> reload{};
};

/// Checks and observes all requests of a server before they reach its handlers: keys and rates, CORS, log, metrics.
/// Thread-safe after the last added route and metric.
///
///     Operation operation(ServerOptions{}, {});
///     operation.router().add({.method = "GET", .pattern = "/hello", .handler = [](http::Request, http::Reply reply) {
///       reply.send({.body = "hello"});
///     }});
///     operation.finish_routes();
///     http::HttpServer server(operation.setup(), operation.handler());
class Operation {
 public:
  /// Reads the file of keys. Throws Error{kIo or kBadInput}.
  Operation(const ServerOptions& options, OperationHooks hooks);
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();

  http::Router& router() noexcept;
  Metrics& metrics() noexcept;
  /// Adds /metrics, /admin/reload and, if no dialect has it, /health.
  void finish_routes();

  /// Returns the setup of a server with these options. The operation must outlive the server.
  http::ServerSetup setup();
  http::Handler handler();

  /// Reads the keys again, and returns a function that replaces the old ones by them and does not throw. Throws as the
  /// constructor. The operation must outlive the function.
  [[nodiscard]] std::function<void()> prepare_keys();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dragoman::server
