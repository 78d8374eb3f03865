#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dragoman::server::http {

/// The header fields of a message, in their order. Names are compared without case.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;

  Headers() = default;
  Headers(std::initializer_list<Field> fields) : fields_(fields) {}

  /// Returns the value of the first field of this name; empty if there is none.
  std::string_view get(std::string_view name) const noexcept;
  bool has(std::string_view name) const noexcept;
  /// Replaces all fields of this name by one. The server leaves out a field that is no valid header field, so that no
  /// value can begin another field or the body.
  void set(std::string name, std::string value);
  /// Appends a field, and keeps others of the same name.
  void add(std::string name, std::string value);
  void remove(std::string_view name);

  auto begin() const noexcept { return fields_.begin(); }
  auto end() const noexcept { return fields_.end(); }
  std::size_t size() const noexcept { return fields_.size(); }

 private:
  std::vector<Field> fields_;
};

/// A whole request: its body was read, within the limits.
struct Request {
  std::string method;  ///< "GET"
  std::string path;    ///< decoded; valid UTF-8, begins with '/', no NUL, no dot segments
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded names and values, in their order
  Headers headers;
  std::string body;
  std::string peer;     ///< the client's address, for limits; logged only if the operator requests it
  bool secure = false;  ///< over TLS

  /// The part of the path that the `{name}` of a route matches; empty for other routes.
  std::string parameter;
  /// The name of the caller's key, if operation/ has verified one.
  std::string key;
  /// The client that rates and shares of the service are counted for: "key NAME", or "address NETWORK". Set by
  /// operation/ for routes that may need a key.
  std::string caller;
  /// The largest number of characters that the key, or a caller without a key, may translate by one request. 0: any.
  std::size_t character_limit = 0;
  /// When the answer is due. Work that cannot end by then may be refused.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Stops when the client has left, at the deadline, and when the server ends.
  std::stop_token gone;

  /// Returns the first value of this name in the query; empty if there is none.
  std::string_view query_value(std::string_view name) const noexcept;
};

/// Returns the address whose connections and requests count as one client's. For IPv6, that is the first address of the
/// /64 network, such as "2001:db8:1:2::". IPv4 addresses, and texts that are no addresses, are returned unchanged.
std::string client_network(std::string_view address);

/// A whole answer. The server adds Date, Content-Length and Connection.
struct Response {
  int status = 200;
  Headers headers = {};
  std::string content_type = {};  ///< empty: none is sent
  std::string body = {};
};

/// Returns an answer whose body is this JSON text.
Response json_response(int status, std::string json);

/// Returns {"error": message}, as LibreTranslate words errors.
Response error_response(int status, std::string_view message);

/// Returns the reason phrase of a status, such as "Not Found". Returns "Unknown" for a status that the server never
/// sends.
std::string_view reason_phrase(int status) noexcept;

/// Where an answer goes: a connection, something that observes an answer on its way, or a test. Its functions are
/// called from any thread, and by Reply and Stream only: send() or begin() once, write() after begin(), finish() last
/// and once.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void send(Response response) = 0;
  virtual void begin(Response head) = 0;
  virtual bool write(std::string_view part) = 0;
  virtual void finish() = 0;
};

/// A body that grows: server-sent events, NDJSON. Copies refer to the same body, which ends at finish() or when the
/// last copy is gone. One thread at a time may use them.
class Stream {
 public:
  explicit Stream(std::shared_ptr<Exchange> exchange);

  /// Queues a part and returns at once. Returns false if the client has gone, or if it reads so slowly that more than
  /// the server's limit is queued for it; the connection is then closed, and later parts are dropped.
  bool write(std::string_view part);
  /// Ends the body. Further calls have no effect.
  void finish();

 private:
  friend class Reply;
  struct State;
  std::shared_ptr<State> state_;
};

/// The answer to one request. Call exactly one of send() and begin(), once, from any thread, at any time. If all copies
/// are gone and none was called, the client gets status 500. An answer to a client that has left is dropped.
class Reply {
 public:
  explicit Reply(std::shared_ptr<Exchange> exchange);

  /// Later calls have no effect.
  void send(Response response);
  /// Sends status and headers; the body follows by the stream. The body of `head` is the first part.
  Stream begin(Response head);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Handles a request. Must not block: it queues the work and returns. Several threads may call it at a time. If it
/// throws, the client gets status 500.
using Handler = std::function<void(Request request, Reply reply)>;

}  // namespace dragoman::server::http
