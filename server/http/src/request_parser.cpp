#include "request_parser.h"

#include "request_target.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <fmt/format.h>

#include <dragoman/core/ascii.h>
#include <dragoman/core/quote.h>

namespace dragoman::server::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;

/// A chunk's head, or the fields after the last chunk.
constexpr std::size_t kMaxBetweenChunks = 8192;

constexpr std::string_view kEndOfHead = "\r\n\r\n";

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// The fields that say where a request goes, who sends it, or how its body is read. A proxy may add trailers to the
/// head, so a request means another thing there.
bool is_refused_in_trailers(beast::http::field known, std::string_view name) {
  using beast::http::field;
  switch (known) {
    case field::authorization:
    case field::connection:
    case field::content_encoding:
    case field::content_length:
    case field::content_range:
    case field::content_type:
    case field::cookie:
    case field::expect:
    case field::forwarded:
    case field::host:
    case field::max_forwards:
    case field::origin:
    case field::proxy_authorization:
    case field::te:
    case field::trailer:
    case field::transfer_encoding:
    case field::upgrade:
    case field::via:
      return true;
    default: {
      // Besides Authorization, callers' keys are in the first two: see key_of() of server/operation and find_key of the
      // dialects.
      const std::string lower = core::ascii_lower(name);
      return lower == "key" || lower == "x-api-key" || lower.starts_with("x-forwarded-");
    }
  }
}

/// Checks the bytes of a head, or of a body without its data: the heads of the chunks and the fields after the last
/// one. Different servers read bare line feeds and folded fields in different ways. The check keeps the last byte, so
/// the result does not depend on how the bytes arrive.
class LineCheck {
 public:
  /// `place` is for messages, like "in the head".
  explicit LineCheck(std::string_view place) : place_(place) {}

  /// Returns why the bytes are refused, or "".
  std::string put(std::string_view bytes) {
    for (const char c : bytes) {
      const char before = std::exchange(last_, c);
      if ((c == '\n') != (before == '\r')) return fmt::format("a line {} does not end in CR LF", place_);
      if ((c == ' ' || c == '\t') && before == '\n')
        return fmt::format("a line {} begins with whitespace; write each field in one line", place_);
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7f)
        return fmt::format("there is a control character {}", place_);
    }
    return {};
  }
  void skip_data() noexcept { last_ = 0; }

 private:
  std::string_view place_;
  char last_ = 0;
};

}  // namespace

/// The request that Beast's parser reports.
class RequestParser::Beast final : public beast::http::basic_parser<true> {
 public:
  explicit Beast(const Bounds& limits) : bounds(limits) {
    header_limit(static_cast<std::uint32_t>(bounds.head_bytes + kEndOfHead.size()));
    // on_part() counts. Not boost::none, which refuses every body in Boost 1.74.
    body_limit(std::numeric_limits<std::uint64_t>::max());
  }

  Bounds bounds;
  Request request;
  int version = 11;
  int status = 0;  ///< of a refusal
  std::string reason;
  std::size_t lengths = 0, encodings = 0, hosts = 0;
  std::size_t field_count = 0;
  bool head_done = false;

  /// Like put(), for bytes of a body.
  std::size_t put_body(std::string_view input, error_code& error) {
    unchecked_ = input;
    const std::size_t consumed = put(boost::asio::buffer(input.data(), input.size()), error);
    const bool waits = error == beast::http::error::need_more;
    if (error && !waits) return consumed;
    error_code refused;
    check_lines(input.data() + consumed, refused);
    if (refused) error = refused;
    return consumed;
  }

  void refuse(int code, std::string_view why, error_code& error) {
    status = code;
    reason = why;
    error = beast::http::error::bad_value;
  }

 private:
  void on_request_impl(beast::http::verb /*known*/, beast::string_view method, beast::string_view target,
                       int http_version, error_code& error) override {
    version = http_version;
    request.method = view(method);
    Target parsed = http::parse_target(view(target));  // Beast has a function of this name
    if (!parsed.problem.empty()) {
      refuse(400, parsed.problem, error);
      return;
    }
    request.path = std::move(parsed.path);
    request.query = std::move(parsed.query);
  }
  void on_response_impl(int, beast::string_view, int, error_code&) override {}
  void on_field_impl(beast::http::field known, beast::string_view name, beast::string_view value,
                     error_code& error) override {
    if (head_done) {  // a field after the last chunk must not change what was decided by the head
      if (is_refused_in_trailers(known, view(name)))
        refuse(400, fmt::format("the field {} must be in the head, not after the chunks", core::quote(view(name))),
               error);
      return;
    }
    if (++field_count > bounds.head_fields) {
      refuse(431, "the request has too many header fields", error);
      return;
    }
    if (known == beast::http::field::content_length) {
      ++lengths;
      if (!std::ranges::all_of(view(value), [](char c) { return c >= '0' && c <= '9'; }) || value.empty())
        refuse(400, "Content-Length is not a number", error);
    } else if (known == beast::http::field::transfer_encoding) {
      ++encodings;
      if (!beast::iequals(value, "chunked")) refuse(400, "Transfer-Encoding must be chunked", error);
    } else if (known == beast::http::field::host) {
      ++hosts;
    }
    request.headers.add(std::string(view(name)), std::string(view(value)));
  }
  void on_header_impl(error_code& error) override {
    head_done = true;
    if (lengths + encodings > 1)
      refuse(400, "the length of the body is stated more than once", error);
    else if (encodings != 0 && version == 10)
      refuse(400, "a request of HTTP/1.0 has no Transfer-Encoding", error);
    else if (hosts > 1 || (hosts == 0 && version == 11))
      refuse(400, "a request has exactly one field Host", error);
    else if (const auto length = content_length(); length && *length > bounds.body_bytes)
      refuse_body(error);
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/, error_code& /*error*/) override {}
  std::size_t on_body_impl(beast::string_view part, error_code& error) override { return on_part(part, error); }
  void on_chunk_header_impl(std::uint64_t size, beast::string_view /*extensions*/, error_code& error) override {
    if (size > bounds.body_bytes - request.body.size()) refuse_body(error);
  }
  std::size_t on_chunk_body_impl(std::uint64_t /*rest*/, beast::string_view part, error_code& error) override {
    return on_part(part, error);
  }
  void on_finish_impl(error_code& /*error*/) override {}

  std::size_t on_part(beast::string_view part, error_code& error) {
    check_lines(part.data(), error);
    if (error) return 0;
    unchecked_.remove_prefix(part.size());
    body_lines_.skip_data();
    if (part.size() > bounds.body_bytes - request.body.size()) {
      refuse_body(error);
      return 0;
    }
    request.body.append(part.data(), part.size());
    return part.size();
  }
  /// Checks the bytes of the input before `end` that are no data.
  void check_lines(const char* end, error_code& error) {
    const std::string_view bytes = unchecked_.substr(0, static_cast<std::size_t>(end - unchecked_.data()));
    unchecked_.remove_prefix(bytes.size());
    if (const std::string problem = body_lines_.put(bytes); !problem.empty()) refuse(400, problem, error);
  }
  void refuse_body(error_code& error) {
    refuse(413, "the body has more than " + std::to_string(bounds.body_bytes) + " bytes; send less at a time", error);
  }

  std::string_view unchecked_;  ///< the part of the input in put_body() whose lines are not yet checked
  LineCheck body_lines_{"between the chunks"};
};

RequestParser::RequestParser(const Bounds& bounds) : bounds_(bounds), beast_(std::make_unique<Beast>(bounds)) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::put(std::string_view input) {
  switch (state_) {
    case State::kHead:
      return put_head(input);
    case State::kBody:
      return put_body(input);
    default:
      return 0;
  }
}

std::size_t RequestParser::put_head(std::string_view input) {
  // Some clients send an empty line after a body (RFC 9112, section 2.2).
  const std::size_t skipped = input.starts_with("\r\n") ? 2 : 0;
  const std::size_t end = input.find(kEndOfHead, std::max(skipped, searched_));
  const bool complete = end != std::string_view::npos;
  if ((complete ? end : input.size()) - skipped > bounds_.head_bytes) {
    const bool in_first_line = input.substr(skipped, bounds_.head_bytes).find('\n') == std::string_view::npos;
    fail(in_first_line ? 414 : 431,
         in_first_line ? "the URL is too long; send the text in the body" : "the header fields are too long");
    return 0;
  }
  if (!complete) {
    searched_ = input.size() - std::min(input.size(), kEndOfHead.size() - 1);
    return 0;
  }
  const std::string_view head = input.substr(skipped, end + kEndOfHead.size() - skipped);
  if (const std::string problem = LineCheck("in the head").put(head); !problem.empty()) {
    fail(400, problem);
    return 0;
  }
  error_code error;
  const std::size_t consumed = beast_->put(boost::asio::buffer(head.data(), head.size()), error);
  if (error || consumed != head.size()) {
    fail(beast_->status == 0 ? 400 : beast_->status,
         beast_->reason.empty() ? "the head of the request is malformed: " + error.message() : beast_->reason);
    return 0;
  }
  const std::string_view expectation = beast_->request.headers.get("Expect");
  if (!expectation.empty() && !beast::iequals({expectation.data(), expectation.size()}, "100-continue")) {
    fail(417, "the server knows no other expectation than 100-continue");
    return 0;
  }
  expects_continue_ = !expectation.empty() && !is_http_1_0();
  state_ = beast_->is_done() ? State::kDone : State::kBody;
  beast_->eager(true);
  return skipped + head.size();
}

/// Beast reads a chunk's head, and the fields after the last chunk, when they are complete. It gets no more at a time
/// than they may have, so that the bound does not depend on how the bytes arrive.
std::size_t RequestParser::put_body(std::string_view input) {
  std::size_t total = 0;
  while (total < input.size()) {
    const std::string_view part = input.substr(total, kMaxBetweenChunks);
    error_code error;
    const std::size_t consumed = beast_->put_body(part, error);
    total += consumed;
    if (error && error != beast::http::error::need_more) {
      fail(beast_->status == 0 ? 400 : beast_->status,
           beast_->reason.empty() ? "the body of the request is malformed: " + error.message() : beast_->reason);
      return total;
    }
    if (beast_->is_done()) {
      state_ = State::kDone;
      return total;
    }
    if (consumed > 0) continue;
    if (part.size() == kMaxBetweenChunks) fail(400, "the body of the request has too much between its chunks");
    return total;
  }
  return total;
}

void RequestParser::fail(int status, std::string_view reason) {
  state_ = State::kFailed;
  status_ = status;
  reason_ = reason;
}

bool RequestParser::keeps_alive() const noexcept {
  return state_ == State::kDone && beast_->keep_alive();
}

bool RequestParser::is_http_1_0() const noexcept {
  return beast_->version == 10;
}

std::size_t RequestParser::body_size() const noexcept {
  return beast_->request.body.size();
}

Request RequestParser::take() {
  return std::move(beast_->request);
}

}  // namespace dragoman::server::http
