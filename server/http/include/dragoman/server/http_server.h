#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/server/http.h>

namespace dragoman::server::http {

/// The limits of time and memory for clients. They hold for any input.
struct Limits {
  using Seconds = std::chrono::duration<double>;

  std::size_t head_bytes = 96 * 1024;              ///< request line and header fields; beyond it 414 or 431
  std::size_t head_fields = 100;                   ///< header fields; beyond it 431
  std::size_t body_bytes = 8 * 1024 * 1024;        ///< beyond it 413
  std::size_t buffered_bytes = 512 * 1024 * 1024;  ///< of all requests and answers in memory; beyond it 503 for the
                                                   ///< largest one that waits for its client
  std::size_t pipelined_bytes = 64 * 1024;    ///< read ahead while a request is answered; a client that sends more and
                                              ///< leaves is noticed when its answer is written
  std::size_t stream_bytes = 1024 * 1024;     ///< queued for a client that reads a stream too slowly
  std::size_t connections = 10'000;           ///< in all; a new one closes the one that is idle for longest
  std::size_t connections_per_address = 256;  ///< of a client_network(); 0: any number

  Seconds head_time{10};      ///< for the TLS handshake, and from the first byte of a request to the end of its head
  Seconds body_time{30};      ///< for a body, and for an answer that the client reads, plus its bytes by `least_rate`
  double least_rate = 4096;   ///< bytes per second that a client must at least send or read
  Seconds idle_time{75};      ///< without a request
  Seconds request_time{300};  ///< from the end of a request to its answer; then Request::gone stops
  Seconds last_time{5};       ///< for the handler to answer after Request::gone has stopped; then 504
  /// Whether a client that ends its side of the connection after a request still waits for the answer. If not, it has
  /// left: an ended side and a closed connection look the same to a server.
  bool half_close = false;
};

/// Returns an IP address in the spelling of Request::peer, or nullopt if the text is no address.
std::optional<std::string> canonical_address(const std::string& text);

struct ServerSetup {
  std::string host = "127.0.0.1";  ///< a name or an address; each of its addresses is bound
  int port = 0;                    ///< 0: any free port
  int threads = 2;                 ///< that read, write and call the handler
  Limits limits = {};
  std::string certificate = {};  ///< PEM file with the chain; empty: no TLS
  std::string private_key = {};  ///< PEM file
  /// Addresses of reverse proxies, as canonical_address() spells them. The last address in X-Forwarded-For that is none
  /// of them is the client's. The limit of connections per address does not hold for them.
  std::vector<std::string> trusted_proxies = {};
  /// Called for requests that were answered before a handler saw them (malformed, too large, too slow) and for closed
  /// connections (status 0). Must be quick and must not throw.
  std::function<void(int status, std::string_view peer, std::string_view reason)> refused = {};
  core::LogSink log = {};
};

/// An HTTP/1.1 server. It reads requests within its limits, calls the handler, and writes the answers in the order of
/// the requests.
///
///     HttpServer server({.port = 5000}, [](const Request& request, Reply reply) {
///       reply.send({.body = request.path});
///     });
///     server.start();
///     server.drain(std::chrono::seconds(30));         // when the program is to end
///
/// Ambiguous requests (two lengths, a length and chunks, folded fields, control characters) get status 400 and their
/// connection is closed, so that a proxy in front cannot be made to see other requests than the server.
///
/// A client has left when its connection is reset, or when it ends its side of the connection (Limits::half_close).
/// Request::gone then stops. The answer is still written if it comes within Limits::last_time.
class HttpServer {
 public:
  /// Reads the certificate and binds the addresses. Clients cannot connect before start(). Throws Error{kIo or
  /// kBadInput} if that fails.
  HttpServer(ServerSetup setup, Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Closes all connections at once. Replies may outlive the server.
  ~HttpServer();

  /// Listens, and starts the threads, which accept connections. Throws Error{kIo} if the system refuses.
  void start();
  int port() const noexcept;
  /// Returns the URLs that it listens at: "http://127.0.0.1:5000".
  std::vector<std::string> urls() const;
  /// Reads certificate and key again, and returns a function that uses them for new connections and does not throw.
  /// Throws as the constructor. The server must outlive the function.
  [[nodiscard]] std::function<void()> prepare_certificate();
  /// Accepts no more connections, closes idle ones and waits for the requests in flight. After `bound`, stops their
  /// Request::gone, and closes their connections after Limits::last_time. Returns whether all were answered in time.
  bool drain(std::chrono::milliseconds bound);

  std::size_t connections() const noexcept;
  std::size_t requests_in_flight() const noexcept;
  std::size_t buffered_bytes() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::server::http
