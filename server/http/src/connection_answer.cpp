// The second half of a connection: its answers, and the time that everything may take.
#include "answer.h"
#include "connection.h"
#include "response_text.h"
#include "server_core.h"

#include <algorithm>

namespace dragoman::server::http {
namespace {

using Clock = Connection::Clock;

/// A body below this size is written together with its head.
constexpr std::size_t kSmallBody = 16 * 1024;
constexpr std::chrono::seconds kLingeringTime{2};

}  // namespace

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
  output_bytes_ += bytes.size();
  charge();
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
  output_bytes_ -= bytes;
  charge();
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
