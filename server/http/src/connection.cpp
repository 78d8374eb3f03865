#include "connection.h"

#include "answer.h"
#include "response_text.h"
#include "server_core.h"

#include <algorithm>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

namespace dragoman::server::http {
namespace {

using Clock = Connection::Clock;

/// Of an idle connection: there may be ten thousand.
constexpr std::size_t kSmallRead = 2048;
constexpr std::size_t kLargeRead = 32 * 1024;
/// A body below this size is written together with its head.
constexpr std::size_t kSmallBody = 16 * 1024;
constexpr std::size_t kMaxLingeringBytes = 16 * 1024 * 1024;
constexpr std::chrono::seconds kLingeringTime{2};

Clock::duration in_ticks(std::chrono::duration<double> time) {
  // A limit of "infinitely long" must not overflow when it is added to the time.
  constexpr double kMost = 1e9;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::clamp(time.count(), 0.0, kMost)));
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

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

template <class Step>
void Connection::guard(Step&& step) noexcept {
  try {
    step();
  } catch (const std::exception& error) {
    try {
      core::log(core_->setup.log, core::LogLevel::kWarning, fmt::format("a connection was closed: {}", error.what()));
    } catch (...) {  // NOLINT(bugprone-empty-catch): memory is short, and the connection goes anyway
    }
    close();
  }
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
  request_bytes_ = 0;
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
  // An end of the stream is no error of the system, nor is that of a client which ends without TLS's farewell.
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

/// Accounts for the memory of the client's input.
void Connection::charge() {
  const std::size_t now = input_.size() + request_bytes_ + (parser_ ? parser_->body_size() : 0);
  core_->buffered += now - charged_;  // modulo 2^64
  charged_ = now;
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
    if (core_->buffered > core_->setup.limits.buffered_bytes) {
      refuse(503, "the server is handling as much text as it has memory for; try again in a second");
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
    Transport::Error error;
    const auto address =
        boost::asio::ip::make_address(std::string(trimmed(std::string_view(listed).substr(begin))), error);
    if (error) break;
    client = address.to_string();
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

// --- Answering ------------------------------------------------------------------------------------------------------

void Connection::answer(std::uint64_t number, Response response) {
  guard([&] {
    if (phase_ != Phase::kAnswering || number != number_ || answered_) return;
    answered_ = true;
    answer_due_ = Clock::time_point::max();
    keeps_alive_ = keeps_alive_ && !draining_ && !core_->draining;
    const bool without_body = response.status == 204 || response.status == 304;
    Framing framing{.length = response.body.size(), .keeps_alive = keeps_alive_};
    if (without_body) framing.length.reset();
    std::string head = head_text(response, framing);
    if (head_only_ || without_body) response.body.clear();
    if (response.body.size() < kSmallBody) {
      head += response.body;
      response.body.clear();
    }
    write(std::move(head));
    if (!response.body.empty()) write(std::move(response.body));
    arm();
  });
}

void Connection::begin_stream(std::uint64_t number, Response head, std::shared_ptr<Answer> stream) {
  guard([&] {
    if (phase_ != Phase::kAnswering || number != number_ || answered_) {
      stream->stop();
      return;
    }
    answered_ = true;
    stream_ = std::move(stream);
    keeps_alive_ = keeps_alive_ && !draining_ && !core_->draining && !http_1_0_;
    if (client_ended_ && !core_->setup.limits.half_close) stream_->stop();
    if (head_only_) {
      stream_->stop();
      stream_ended_ = true;
    }
    write(head_text(head, {.length = {}, .chunked = !http_1_0_, .keeps_alive = keeps_alive_}));
    arm();
  });
}

void Connection::flush(std::uint64_t number) {
  guard([&] {
    if (phase_ != Phase::kAnswering || number != number_ || !stream_ || stream_ended_) return;
    std::string bytes = stream_->take(!http_1_0_, stream_ended_);
    if (stream_ended_ && !http_1_0_) bytes += kLastChunk;
    if (!bytes.empty())
      write(std::move(bytes), true);
    else if (stream_ended_ && !writing_)
      finish_answer();
    arm();
  });
}

void Connection::write(std::string bytes, bool of_stream) {
  output_.push_back({std::move(bytes), of_stream});
  if (writing_) return;
  writing_ = true;
  write_start_ = Clock::now();
  written_ = 0;
  write_next();
}

void Connection::write_next() {
  const std::string& front = output_.front().bytes;
  transport_->write_some(boost::asio::buffer(front.data() + offset_, front.size() - offset_),
                         [self = shared_from_this()](const Transport::Error& error, std::size_t bytes) {
                           self->guard([&] { self->on_written(error, bytes); });
                         });
}

void Connection::on_written(Transport::Error error, std::size_t bytes) {
  if (phase_ == Phase::kClosed || error) {
    output_.clear();
    writing_ = false;
    close();
    return;
  }
  written_ += bytes;
  offset_ += bytes;
  if (output_.front().of_stream && stream_) stream_->count_written(bytes);
  if (offset_ == output_.front().bytes.size()) {
    output_.pop_front();
    offset_ = 0;
  }
  if (!output_.empty()) {
    write_next();
    return;
  }
  writing_ = false;
  if (phase_ == Phase::kAnswering && answered_ && (!stream_ || stream_ended_)) finish_answer();
  arm();
}

void Connection::finish_answer() {
  if (std::exchange(in_flight_, false)) --core_->in_flight;
  stream_.reset();
  request_bytes_ = 0;
  charge();
  if (client_ended_ && (input_.empty() || !core_->setup.limits.half_close)) {
    close();
  } else if (!keeps_alive_) {
    linger();
  } else {
    enter(Phase::kIdle);
    if ((draining_ || core_->draining) && input_.empty())
      close();
    else
      process();
  }
}

/// A socket that is closed while the client still sends would be reset, and the answer lost.
void Connection::linger() {
  input_ = {};
  charge();
  enter(Phase::kLingering);
  transport_->end_writing();
  read();
  arm();
}

// --- Time -----------------------------------------------------------------------------------------------------------

Clock::time_point Connection::due() const {
  const Limits& limits = core_->setup.limits;
  const auto with_rate = [&](Clock::time_point start, std::size_t bytes) {
    return start +
           in_ticks(limits.body_time + Limits::Seconds(static_cast<double>(bytes) / std::max(limits.least_rate, 1.0)));
  };
  Clock::time_point due = Clock::time_point::max();
  switch (phase_) {
    case Phase::kHandshake:
    case Phase::kHead:
      due = phase_start_ + in_ticks(limits.head_time);
      break;
    case Phase::kIdle:
      due = phase_start_ + in_ticks(limits.idle_time);
      break;
    case Phase::kBody:
      due = with_rate(phase_start_, parser_->body_size());
      break;
    case Phase::kAnswering:
      due = answer_due_;
      break;
    case Phase::kLingering:
      due = phase_start_ + kLingeringTime;
      break;
    case Phase::kClosed:
      return due;
  }
  if (writing_) due = std::min(due, with_rate(write_start_, written_));
  return due;
}

void Connection::arm() {
  const Clock::time_point time = due();
  if (time >= armed_) return;  // it fires earlier, and is set again then
  armed_ = time;
  timer_.expires_at(time);
  timer_.async_wait([self = shared_from_this(), number = ++timer_number_](const Transport::Error& /*error*/) {
    if (number == self->timer_number_) self->guard([&] { self->on_timer(); });
  });
}

void Connection::on_timer() {
  armed_ = Clock::time_point::max();
  if (phase_ == Phase::kClosed) return;
  if (Clock::now() >= due()) on_due();
  arm();
}

void Connection::on_due() {
  switch (phase_) {
    case Phase::kHead:
      refuse(408, "the head of the request did not arrive in time");
      return;
    case Phase::kBody:
      refuse(408, "the body of the request did not arrive in time");
      return;
    case Phase::kAnswering:
      break;
    default:
      close();
      return;
  }
  if (Clock::now() < answer_due_) {  // the client does not read
    close();
  } else if (!last_time_) {
    last_time_ = true;
    answer_due_ = Clock::now() + in_ticks(core_->setup.limits.last_time);
    gone_.request_stop();
  } else if (!answered_) {
    keeps_alive_ = false;
    answer(number_, error_response(504, "the request was not answered in time; send less text at a time"));
  } else {
    close();
  }
}

}  // namespace dragoman::server::http
