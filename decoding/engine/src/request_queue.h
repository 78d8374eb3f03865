#pragma once

#include "dragoman/engine/translation_engine.h"
#include "sentence_queue.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include <dragoman/core/shared_executor.h>

namespace dragoman::engine {

/// A request in flight.
struct Job {
  struct Translation {
    TranslationRequest request;
    Client::OnTranslation done;
  };
  struct Score {
    ScoreRequest request;
    Client::OnScore done;
  };

  Client::State* client = nullptr;
  std::variant<Translation, Score> task;
  std::size_t bytes = 0;
  std::chrono::steady_clock::time_point submitted{};
  bool begun = false;         ///< has returned its first token
  std::exception_ptr thrown;  ///< by the request's callback for partial translations

  const std::stop_token& stop() const;
  /// Returns whether the result is no longer needed.
  bool stopped() const;
};

enum class Work : std::uint8_t { kTranslations, kScores, kHelp, kEnd };

/// The state of a worker in the queue. A new worker counts as free.
struct Seat {
  std::size_t jobs = 0;
  bool free = true;  ///< has no work, or has called its last callback
  core::SharedExecutor* own = nullptr;
  core::SharedExecutor* helped = nullptr;  ///< the executor of the worker to help, after Work::kHelp
};

/// The requests that no worker has taken yet, and their assignment to workers. Thread-safe. Clients take turns.
/// Translations and scores, which need steps of different kinds, go to separate workers. A worker with sentences in
/// flight leaves the last requests to workers without any. The functions for workers do not allocate memory, and every
/// job has an owner at any time, so no job is lost when memory runs out.
///
/// While nothing waits, idle workers help busy ones: the queue lends their threads.
class RequestQueue final : public core::ThreadLender {
 public:
  /// `most_workers`: the maximum number of workers. `start_worker` starts a worker, under the lock, and returns whether
  /// it did.
  RequestQueue(std::size_t most_workers, bool lends, std::function<bool()> start_worker)
      : most_workers_(most_workers), lends_(lends), start_worker_(std::move(start_worker)) {
    calls_.reserve(most_workers);
  }

  // --- clients ---

  void add(Client::State& client);
  void remove(Client::State& client);
  /// Blocks until there is room.
  void submit(std::unique_ptr<Job> job, std::size_t most_bytes);
  void cancel(Client::State& client) noexcept;
  void wait(Client::State& client);

  // --- workers ---

  /// Waits for work and returns its kind. kHelp: the worker has joined seat.helped. kEnd: the queue was closed.
  Work wait_for_work(Seat& seat) noexcept;
  /// Returns whether helpers should return to the queue.
  bool wants_helpers_back() const noexcept { return waiting_ > 0 || closed_; }
  /// Returns the next translation for this worker, or nullptr if there is none for it now.
  std::unique_ptr<Job> take_translation(Seat& seat) noexcept;
  /// Moves scores to compute together, of about `tokens` tokens, to the front of `batch`, whose elements are empty.
  /// Returns their number: at least one if any waits.
  std::size_t take_scores(Seat& seat, std::size_t tokens, std::span<std::unique_ptr<Job>> batch) noexcept;
  /// Reports that the worker which wait_for_work() assigned to scores has finished its batch.
  void scores_done() noexcept;
  /// Reports that the callback of the job has been called. `thrown` is the exception of the callback.
  void finish(Seat& seat, const Job& job, std::exception_ptr thrown) noexcept;
  void close() noexcept;

  // --- workers' executors ---

  int idle() const noexcept override;
  void call(core::SharedExecutor& borrower, int threads) noexcept override;

 private:
  /// Threads that a worker has requested and that have not arrived yet.
  struct Call {
    core::SharedExecutor* borrower;
    int threads;
  };

  using Jobs = SentenceQueue<std::unique_ptr<Job>>;

  bool start_worker() noexcept;
  void drop_calls_of(core::SharedExecutor* borrower) noexcept;
  core::SharedExecutor* answer_call() noexcept;
  std::unique_ptr<Job> take(Seat& seat, Jobs& queue) noexcept;
  void set_free(Seat& seat, bool free) noexcept;
  Client::State* next_client(Jobs Client::State::*queue) noexcept;
  /// Whether scores wait and no worker computes scores.
  bool scores_want_a_worker() const { return scores_ > 0 && scoring_ == 0; }

  const std::size_t most_workers_;
  const bool lends_;
  const std::function<bool()> start_worker_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<Client::State*> clients_;
  std::size_t turn_ = 0;
  std::size_t translations_ = 0;  ///< waiting
  std::size_t scores_ = 0;        ///< waiting
  std::size_t free_ = 0;          ///< workers
  int scoring_ = 0;               ///< workers that score
  std::vector<Call> calls_;       ///< at most one per borrower
  int called_ = 0;                ///< requested threads of all borrowers
  int helping_ = 0;               ///< free workers that help
  bool can_start_ = true;
  // Changed under the lock, read without it:
  std::atomic<std::size_t> waiting_ = 0;  ///< translations and scores
  std::atomic<std::size_t> busy_ = 0;     ///< workers that are not free
  std::atomic<bool> closed_ = false;
};

}  // namespace dragoman::engine

/// The state of one client. The queue's lock guards it, except for `cancelled`.
struct dragoman::engine::Client::State {
  SentenceQueue<std::unique_ptr<Job>> translations;
  SentenceQueue<std::unique_ptr<Job>> scores;
  std::size_t jobs = 0;  ///< in flight
  std::size_t bytes = 0;
  std::exception_ptr thrown;
  std::condition_variable changed;
  std::atomic<bool> cancelled = false;
};
