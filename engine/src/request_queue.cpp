#include "request_queue.h"

#include <algorithm>
#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::engine {
namespace {

std::size_t length_of(const Job& job) {
  if (const auto* translation = std::get_if<Job::Translation>(&job.task)) return translation->request.source.size();
  const ScoreRequest& request = std::get<Job::Score>(job.task).request;
  return request.source.size() + request.target.size() + 1;
}

}  // namespace

const std::stop_token& Job::stop() const {
  return std::visit([](const auto& kind) -> const std::stop_token& { return kind.request.stop; }, task);
}

bool Job::stopped() const {
  return client->cancelled.load(std::memory_order_relaxed) || stop().stop_requested();
}

void RequestQueue::add(Client::State& client) {
  const std::lock_guard lock(mutex_);
  clients_.push_back(&client);
}

void RequestQueue::remove(Client::State& client) {
  const std::lock_guard lock(mutex_);
  std::erase(clients_, &client);
}

void RequestQueue::submit(std::unique_ptr<Job> job, std::size_t most_bytes, const std::function<bool()>& start_worker) {
  Client::State& client = *job->client;
  std::unique_lock lock(mutex_);
  client.changed.wait(lock, [&] { return client.cancelled || client.jobs == 0 || client.bytes < most_bytes; });
  core::require(!client.cancelled, core::ErrorCode::kInterrupted, "the request was cancelled");
  if (translations_ + scores_ >= free_ && start_worker()) ++free_;
  const bool translation = std::holds_alternative<Job::Translation>(job->task);
  const std::size_t bytes = job->bytes;
  const std::size_t length = length_of(*job);
  (translation ? client.translations : client.scores).push(length, std::move(job));
  ++(translation ? translations_ : scores_);
  ++client.jobs;
  client.bytes += bytes;
  work_.notify_one();
}

void RequestQueue::cancel(Client::State& client) noexcept {
  const std::lock_guard lock(mutex_);
  client.cancelled = true;
  client.changed.notify_all();
}

void RequestQueue::wait(Client::State& client) {
  std::unique_lock lock(mutex_);
  client.changed.wait(lock, [&] { return client.jobs == 0; });
  if (client.thrown) std::rethrow_exception(std::exchange(client.thrown, nullptr));
}

Work RequestQueue::wait_for_work(Seat& seat) noexcept {
  std::unique_lock lock(mutex_);
  set_free(seat, true);
  work_.wait(lock, [&] { return closed_ || translations_ > 0 || scores_ > 0; });
  if (closed_) return Work::kEnd;
  if (translations_ > 0 && !scores_want_a_worker()) return Work::kTranslations;
  ++scoring_;
  return Work::kScores;
}

std::unique_ptr<Job> RequestQueue::take_translation(Seat& seat) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_ || scores_want_a_worker()) return nullptr;
  if (seat.jobs > 0 && translations_ <= free_) return nullptr;
  Client::State* client = next_client(&Client::State::translations);
  if (client == nullptr) return nullptr;
  --translations_;
  return take(seat, client->translations);
}

std::size_t RequestQueue::take_scores(Seat& seat, std::size_t tokens, std::span<std::unique_ptr<Job>> batch) noexcept {
  const std::lock_guard lock(mutex_);
  std::size_t taken = 0;
  for (std::size_t sum = 0; sum < tokens && taken < batch.size() && !closed_; ++taken) {
    Client::State* client = next_client(&Client::State::scores);
    if (client == nullptr) break;
    --scores_;
    batch[taken] = take(seat, client->scores);
    sum += length_of(*batch[taken]);
  }
  return taken;
}

void RequestQueue::scores_done() noexcept {
  const std::lock_guard lock(mutex_);
  --scoring_;
}

void RequestQueue::finish(Seat& seat, const Job& job, std::exception_ptr thrown) noexcept {
  const std::lock_guard lock(mutex_);
  if (--seat.jobs == 0) set_free(seat, true);
  Client::State& client = *job.client;
  --client.jobs;
  client.bytes -= job.bytes;
  if (thrown && !client.thrown) client.thrown = std::move(thrown);
  client.changed.notify_all();
}

void RequestQueue::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  work_.notify_all();
}

void RequestQueue::set_free(Seat& seat, bool free) noexcept {
  if (seat.free == free) return;
  seat.free = free;
  free ? ++free_ : --free_;
}

std::unique_ptr<Job> RequestQueue::take(Seat& seat, Jobs& queue) noexcept {
  set_free(seat, false);
  ++seat.jobs;
  return queue.pop();
}

/// Whose turn it is, of those that wait; the turn is then the next one's.
Client::State* RequestQueue::next_client(Jobs Client::State::*queue) noexcept {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client::State* client = clients_[(turn_ + i) % clients_.size()];
    if ((client->*queue).empty()) continue;
    turn_ = (turn_ + i + 1) % clients_.size();
    return client;
  }
  return nullptr;
}

}  // namespace dragoman::engine
