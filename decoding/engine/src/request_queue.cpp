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

void RequestQueue::submit(std::unique_ptr<Job> job, std::size_t most_bytes) {
  Client::State& client = *job->client;
  std::unique_lock lock(mutex_);
  client.changed.wait(lock, [&] { return client.cancelled || client.jobs == 0 || client.bytes < most_bytes; });
  core::require(!client.cancelled, core::ErrorCode::kInterrupted, "the request was cancelled");
  if (translations_ + scores_ >= free_ && start_worker_()) ++free_;
  const bool translation = std::holds_alternative<Job::Translation>(job->task);
  const std::size_t bytes = job->bytes;
  const std::size_t length = length_of(*job);
  (translation ? client.translations : client.scores).push(length, std::move(job));
  ++(translation ? translations_ : scores_);
  ++waiting_;
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
  if (std::exchange(seat.helped, nullptr) != nullptr) --helping_;
  drop_calls_of(seat.own);
  work_.wait(lock, [&] { return closed_ || translations_ > 0 || scores_ > 0 || !calls_.empty(); });
  if (closed_) return Work::kEnd;
  if (translations_ > 0 && !scores_want_a_worker()) return Work::kTranslations;
  if (scores_ > 0) {
    ++scoring_;
    return Work::kScores;
  }
  seat.helped = answer_call();
  ++helping_;
  return Work::kHelp;
}

std::unique_ptr<Job> RequestQueue::take_translation(Seat& seat) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_ || scores_want_a_worker()) return nullptr;
  if (seat.jobs > 0 && translations_ <= free_) return nullptr;
  Client::State* client = next_client(&Client::State::translations);
  if (client == nullptr) return nullptr;
  --translations_;
  --waiting_;
  return take(seat, client->translations);
}

std::size_t RequestQueue::take_scores(Seat& seat, std::size_t tokens, std::span<std::unique_ptr<Job>> batch) noexcept {
  const std::lock_guard lock(mutex_);
  std::size_t taken = 0;
  for (std::size_t sum = 0; sum < tokens && taken < batch.size() && !closed_; ++taken) {
    Client::State* client = next_client(&Client::State::scores);
    if (client == nullptr) break;
    --scores_;
    --waiting_;
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
  free ? --busy_ : ++busy_;
}

/// Busy workers share the idle ones evenly.
int RequestQueue::idle() const noexcept {
  // The work of a step is not worth more threads: all of them wait for the last one.
  constexpr std::size_t kMaxHelpers = 7;
  const std::size_t busy = busy_.load(std::memory_order_relaxed);
  if (!lends_ || waiting_.load(std::memory_order_relaxed) > 0 || busy == 0 || busy >= most_workers_) return 0;
  return static_cast<int>(std::min(kMaxHelpers, (most_workers_ - busy) / busy));
}

void RequestQueue::call(core::SharedExecutor& borrower, int threads) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  const auto found = std::ranges::find(calls_, &borrower, &Call::borrower);
  if (found != calls_.end())
    found->threads += threads;
  else
    calls_.push_back({&borrower, threads});
  called_ += threads;
  while (static_cast<int>(free_) - helping_ < called_ && start_worker()) ++free_;
  for (int i = 0; i < threads; ++i) work_.notify_one();
}

/// For callers that can proceed without the worker.
bool RequestQueue::start_worker() noexcept {
  try {
    can_start_ = can_start_ && start_worker_();
  } catch (...) {
    can_start_ = false;
  }
  return can_start_;
}

/// The borrower's own worker has done the work.
void RequestQueue::drop_calls_of(core::SharedExecutor* borrower) noexcept {
  const auto found = std::ranges::find(calls_, borrower, &Call::borrower);
  if (found == calls_.end()) return;
  borrower->dismiss(found->threads);
  called_ -= found->threads;
  calls_.erase(found);
}

core::SharedExecutor* RequestQueue::answer_call() noexcept {
  Call& call = calls_.front();
  core::SharedExecutor* borrower = call.borrower;
  borrower->join();
  --called_;
  if (--call.threads == 0) calls_.erase(calls_.begin());
  return borrower;
}

std::unique_ptr<Job> RequestQueue::take(Seat& seat, Jobs& queue) noexcept {
  set_free(seat, false);
  ++seat.jobs;
  return queue.pop();
}

/// Returns the client whose turn it is among those with waiting requests, and passes the turn to the next client.
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
