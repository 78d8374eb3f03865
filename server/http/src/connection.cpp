#include "connection.h"

#include "answer.h"
#include "server_core.h"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

namespace dragoman::server::http {
namespace {

using Clock = Connection::Clock;

/// The buffer of an idle connection. Ten thousand connections may have one.
constexpr std::size_t kSmallRead = 2048;
constexpr std::size_t kLargeRead = 32 * 1024;
constexpr std::size_t kMaxLingeringBytes = 16 * 1024 * 1024;

constexpr const char* kNoMemory = "the server has no memory for this request now; try again in a second";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

Clock::duration in_ticks(std::chrono::duration<double> time) {
  constexpr double kMaxSeconds = 1e9;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::clamp(time.count(), 0.0, kMaxSeconds)));
}

Connection::Connection(std::shared_ptr<ServerCore> core, std::unique_ptr<Transport> transport, std::string peer)
    : core_(std::move(core)),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      timer_(transport_->socket().get_executor()),
      phase_start_(Clock::now()),
      idle_since_(phase_start_.time_since_epoch().count()) {}

Connection::~Connection() {
  core_->remove(*this);
}

void Connection::close_after(const std::exception& error) noexcept {
  try {
    core::log(core_->setup.log, core::LogLevel::kWarning, fmt::format("a connection was closed: {}", error.what()));
  } catch (...) {  // NOLINT(bugprone-empty-catch): memory is short, and the connection is closed in any case
  }
  close();
}

std::optional<Clock::time_point> Connection::idle_since() const noexcept {
  const Clock::rep since = idle_since_;
  if (since < 0) return std::nullopt;
  return Clock::time_point(Clock::duration(since));
}

void Connection::start() {
  guard([&] {
    if (core_->draining) {
      close();
      return;
    }
    transport_->handshake([self = shared_from_this()](const Transport::Error& error) {
      self->guard([&] {
        if (self->phase_ == Phase::kClosed) return;
        if (error || self->core_->draining) {
          self->close();
          return;
        }
        self->enter(Phase::kIdle);
        self->process();
      });
    });
    arm();
  });
}

void Connection::enter(Phase phase) {
  phase_ = phase;
  phase_start_ = Clock::now();
  const bool without_request = phase == Phase::kHandshake || phase == Phase::kIdle || phase == Phase::kHead;
  // A client that sends its head slowly is no better than one that sends none.
  if (!without_request)
    idle_since_ = -1;
  else if (idle_since_ < 0)
    idle_since_ = phase_start_.time_since_epoch().count();
}

void Connection::drain() {
  draining_ = true;
  if (phase_ == Phase::kHandshake || (phase_ == Phase::kIdle && input_.empty())) close();
}

void Connection::hurry() {
  guard([&] {
    if (phase_ != Phase::kAnswering) {
      if (phase_ != Phase::kLingering) close();
      return;
    }
    answer_due_ = std::min(answer_due_, Clock::now());
    if (!last_time_) on_due();
    arm();
  });
}

void Connection::give_way() {
  guard([&] {
    if (phase_ == Phase::kHead || phase_ == Phase::kBody)
      refuse(503, kNoMemory);
    else if (phase_ == Phase::kAnswering && output_bytes_ > 0)
      close();
  });
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  enter(Phase::kClosed);
  if (stream_) stream_->stop();
  if (std::exchange(in_flight_, false)) --core_->in_flight;
  gone_.request_stop();
  ++timer_number_;
  Transport::Error ignored;
  timer_.cancel(ignored);
  transport_->socket().close(ignored);
  parser_.reset();
  input_ = {};
  request_bytes_ = output_bytes_ = 0;
  charge();
  core_->remove(*this);
}

// --- Reading --------------------------------------------------------------------------------------------------------

void Connection::read() {
  if (reading_ || client_ended_ || phase_ == Phase::kClosed || phase_ == Phase::kHandshake) return;
  if (phase_ == Phase::kAnswering && input_.size() >= core_->setup.limits.pipelined_bytes) return;
  buffer_.resize(phase_ == Phase::kBody ? kLargeRead : kSmallRead);
  if (phase_ != Phase::kBody && buffer_.capacity() > kLargeRead / 2) buffer_.shrink_to_fit();
  reading_ = true;
  transport_->read_some(boost::asio::buffer(buffer_.data(), buffer_.size()),
                        [self = shared_from_this()](const Transport::Error& error, std::size_t bytes) {
                          self->guard([&] { self->on_read(error, bytes); });
                        });
}

void Connection::on_read(Transport::Error error, std::size_t bytes) {
  reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error) {
    on_end(error);
    return;
  }
  if (phase_ == Phase::kLingering) {
    lingered_ += bytes;
    if (lingered_ > kMaxLingeringBytes)
      close();
    else
      read();
    return;
  }
  input_.append(buffer_, 0, bytes);
  charge();
  if (phase_ == Phase::kAnswering)
    read();
  else
    process();
}

void Connection::on_end(Transport::Error error) {
  // The end of the stream is not a system error, with or without TLS's close_notify.
  const bool is_end = error.category() != boost::system::system_category();
  if (is_end && phase_ == Phase::kAnswering)
    leave();
  else
    close();
}

/// The client has ended its side. Whether it still reads cannot be told until something is written.
void Connection::leave() {
  client_ended_ = true;
  if (core_->setup.limits.half_close) return;
  keeps_alive_ = false;
  if (stream_) stream_->stop();
  if (!last_time_ && (!answered_ || (stream_ && !stream_ended_))) {
    last_time_ = true;
    answer_due_ = Clock::now() + in_ticks(core_->setup.limits.last_time);
    gone_.request_stop();
  }
  arm();
}

/// Accounts for the memory of the client's input and output.
void Connection::charge() {
  const std::size_t now = input_.size() + request_bytes_ + (parser_ ? parser_->body_size() : 0) + output_bytes_;
  core_->buffered += now - charged_;  // modulo 2^64
  charged_ = now;
  waiting_bytes_ = phase_ == Phase::kAnswering ? output_bytes_ : now;
}

void Connection::process() {
  while (phase_ == Phase::kIdle || phase_ == Phase::kHead || phase_ == Phase::kBody) {
    if (phase_ == Phase::kIdle) {
      if (input_ == "\r\n") input_.clear();  // after a body; no request
      if (input_.empty()) break;
      const Limits& limits = core_->setup.limits;
      parser_ = std::make_unique<RequestParser>(RequestParser::Bounds{
          .head_bytes = limits.head_bytes, .head_fields = limits.head_fields, .body_bytes = limits.body_bytes});
      enter(Phase::kHead);
    }
    const std::size_t consumed = parser_->put(input_);
    input_.erase(0, consumed);
    charge();
    if (parser_->state() == RequestParser::State::kFailed) {
      refuse(parser_->status(), parser_->reason());
      return;
    }
    if (core_->buffered > core_->setup.limits.buffered_bytes && !core_->make_room(*this)) {
      refuse(503, kNoMemory);
      return;
    }
    if (parser_->state() == RequestParser::State::kDone) {
      dispatch();
    } else if (parser_->state() == RequestParser::State::kBody && phase_ == Phase::kHead) {
      enter(Phase::kBody);
      if (parser_->expects_continue() && input_.empty()) write("HTTP/1.1 100 Continue\r\n\r\n");
    } else if (consumed == 0 || input_.empty()) {
      break;
    }
  }
  read();
  arm();
}

// --- Handling -------------------------------------------------------------------------------------------------------

std::string Connection::client_address(const Headers& headers) const {
  if (!core_->trusts(peer_)) return peer_;
  std::string listed;
  for (const auto& [name, value] : headers) {
    Headers one;
    one.add(name, {});
    if (one.has("X-Forwarded-For")) listed += (listed.empty() ? "" : ",") + value;
  }
  std::string client = peer_;
  while (!listed.empty()) {
    const std::size_t comma = listed.rfind(',');
    const std::size_t begin = comma == std::string::npos ? 0 : comma + 1;
    const auto address = canonical_address(std::string(trimmed(std::string_view(listed).substr(begin))));
    if (!address) break;
    client = *address;
    if (!core_->trusts(client)) break;
    listed.erase(comma == std::string::npos ? 0 : comma);
  }
  return client;
}

void Connection::dispatch() {
  enter(Phase::kAnswering);
  ++number_;
  answered_ = last_time_ = stream_ended_ = false;
  stream_.reset();
  keeps_alive_ = parser_->keeps_alive();
  http_1_0_ = parser_->is_http_1_0();
  Request request = parser_->take();
  parser_.reset();
  request_bytes_ = request.body.size();
  charge();
  head_only_ = request.method == "HEAD";
  request.peer = client_address(request.headers);
  request.secure = !core_->setup.certificate.empty();
  gone_ = std::stop_source();
  request.gone = gone_.get_token();
  answer_due_ = phase_start_ + in_ticks(core_->setup.limits.request_time);
  request.deadline = answer_due_;
  in_flight_ = true;
  ++core_->in_flight;
  try {
    core_->handler(std::move(request), Reply(std::make_shared<Answer>(core_, weak_from_this(), number_)));
  } catch (const std::exception& error) {  // its Reply answers 500
    core::log(core_->setup.log, core::LogLevel::kWarning, fmt::format("a request failed: {}", error.what()));
  }
}

void Connection::refuse(int status, std::string reason) {
  if (core_->setup.refused) core_->setup.refused(status, peer_, reason);
  enter(Phase::kAnswering);
  ++number_;
  answered_ = last_time_ = stream_ended_ = head_only_ = false;
  stream_.reset();
  keeps_alive_ = false;
  parser_.reset();
  input_ = {};
  charge();
  Response response = error_response(status, reason);
  if (status == 503) response.headers.set("Retry-After", "1");
  answer(number_, std::move(response));
}

}  // namespace dragoman::server::http
