#include "answer.h"

#include "connection.h"
#include "response_text.h"
#include "server_core.h"

namespace dragoman::server::http {

Answer::Answer(std::shared_ptr<ServerCore> core, std::weak_ptr<Connection> connection, std::uint64_t number)
    : core_(std::move(core)), connection_(std::move(connection)), number_(number) {}

void Answer::send(Response response) {
  const auto connection = connection_.lock();
  if (!connection) return;
  auto shared = std::make_shared<Response>(std::move(response));
  core_->post(*connection, [connection, number = number_, shared] { connection->answer(number, std::move(*shared)); });
}

void Answer::begin(Response head) {
  const auto connection = connection_.lock();
  if (!connection) {
    stopped_ = true;
    return;
  }
  const std::string first = std::move(head.body);
  head.body.clear();
  auto shared = std::make_shared<Response>(std::move(head));
  core_->post(*connection, [connection, number = number_, shared, self = shared_from_this()] {
    connection->begin_stream(number, std::move(*shared), self);
  });
  write(first);
}

bool Answer::write(std::string_view part) {
  if (stopped_) return false;
  if (part.empty()) return true;
  const std::lock_guard lock(mutex_);
  if (queued_ + part.size() > core_->setup.limits.stream_bytes) {
    stopped_ = true;
    pending_.clear();
    if (const auto connection = connection_.lock()) core_->post(*connection, [connection] { connection->close(); });
    return false;
  }
  queued_ += part.size();
  pending_ += part;
  request_flush();
  return true;
}

void Answer::finish() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  request_flush();
}

/// The caller has the lock.
void Answer::request_flush() {
  if (flush_requested_) return;
  flush_requested_ = true;
  if (const auto connection = connection_.lock())
    core_->post(*connection, [connection, number = number_] { connection->flush(number); });
}

std::string Answer::take(bool chunked, bool& ended) {
  const std::lock_guard lock(mutex_);
  flush_requested_ = false;
  ended = ended_;
  std::string bytes = std::exchange(pending_, {});
  return chunked && !bytes.empty() ? chunk_text(bytes) : bytes;
}

}  // namespace dragoman::server::http
