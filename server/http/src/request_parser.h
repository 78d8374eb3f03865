#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <dragoman/server/http.h>

namespace dragoman::server::http {

/// Reads one request from bytes that arrive in any parts. Boost.Beast parses; this class refuses what Beast accepts but
/// other servers and proxies may read in another way.
class RequestParser {
 public:
  struct Bounds {
    std::size_t head_bytes;
    std::size_t head_fields;
    std::size_t body_bytes;
  };
  enum class State {
    kHead,  ///< the head is not complete
    kBody,  ///< the head is complete, the body is not
    kDone,
    kFailed,
  };

  explicit RequestParser(const Bounds& bounds);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;
  ~RequestParser();

  /// Consumes a prefix of `input` and returns its length. Call it again with the rest and what has arrived since.
  /// Stops once at the end of the head, so that the caller can answer `Expect`.
  std::size_t put(std::string_view input);

  State state() const noexcept { return state_; }
  /// The status and the reason if the state is kFailed.
  int status() const noexcept { return status_; }
  const std::string& reason() const noexcept { return reason_; }

  // After the head:
  bool expects_continue() const noexcept { return expects_continue_; }
  /// Whether the connection may serve another request.
  bool keeps_alive() const noexcept;
  bool is_http_1_0() const noexcept;
  /// The bytes of the body so far.
  std::size_t body_size() const noexcept;

  /// Returns the request if the state is kDone; of a failed one, what is known of it.
  Request take();

 private:
  class Beast;
  std::size_t put_head(std::string_view input);
  std::size_t put_body(std::string_view input);
  void fail(int status, std::string_view reason);

  Bounds bounds_;
  std::unique_ptr<Beast> beast_;
  State state_ = State::kHead;
  std::size_t searched_ = 0;  ///< bytes of the input without the end of the head
  int status_ = 0;
  std::string reason_;
  bool expects_continue_ = false;
};

}  // namespace dragoman::server::http
