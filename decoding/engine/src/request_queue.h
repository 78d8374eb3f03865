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

/// A request under way.
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
  bool begun = false;         ///< has its first token
  std::exception_ptr thrown;  ///< by the request's callback for partial translations

  const std::stop_token& stop() const;
  /// Whether nobody wants its result any more.
  bool stopped() const;
};

enum class Work : std::uint8_t { kTranslations, kScores, kHelp, kEnd };

/// A worker, as the queue knows it. A new one counts as free.
struct Seat {
  std::size_t jobs = 0;
  bool free = true;  ///< has nothing to do, or has called its last callback
  core::SharedExecutor* own = nullptr;
  core::SharedExecutor* helped = nullptr;  ///< the executor of the worker to help, after Work::kHelp
};

/// What clients have asked for and no worker has taken yet, and who takes what: clients take turns; translations and
/// scores, which go through steps of different kinds, get their workers; a worker that has sentences in flight leaves
/// the last ones to workers that have none. Thread-safe. What workers call asks for no memory, and a job is always in
/// somebody's hands: so none is lost where there is no memory.
///
/// While nothing waits, workers that have nothing to do help those that have: it lends their threads.
class RequestQueue final : public core::ThreadLender {
 public:
  /// `most_workers`: as many as may be started. `start_worker` starts one, under the lock; whether it has.
  RequestQueue(std::size_t most_workers, bool lends, std::function<bool()> start_worker)
      : most_workers_(most_workers), lends_(lends), start_worker_(std::move(start_worker)) {
    calls_.reserve(most_workers);
  }

  // --- clients ---

  void add(Client::State& client);
  void remove(Client::State& client);
  /// Waits for room.
  void submit(std::unique_ptr<Job> job, std::size_t most_bytes);
  void cancel(Client::State& client) noexcept;
  void wait(Client::State& client);

  // --- workers ---

  /// Waits for work of any kind; which kind the worker is to do. kHelp: it has joined seat.helped. kEnd when the queue
  /// was closed.
  Work wait_for_work(Seat& seat) noexcept;
  /// Whether who helps should come back.
  bool wants_helpers_back() const noexcept { return waiting_ > 0 || closed_; }
  /// The next translation for this worker; nullptr if there is none for it now.
  std::unique_ptr<Job> take_translation(Seat& seat) noexcept;
  /// Puts scores to go through together, of about so many tokens, at the front of `batch`, whose places are empty; how
  /// many: at least one if any waits.
  std::size_t take_scores(Seat& seat, std::size_t tokens, std::span<std::unique_ptr<Job>> batch) noexcept;
  /// The worker that wait_for_work() sent to scores is done with its batch.
  void scores_done() noexcept;
  /// The job's callback has been called. `thrown` is what that threw.
  void finish(Seat& seat, const Job& job, std::exception_ptr thrown) noexcept;
  void close() noexcept;

  // --- workers' executors ---

  int idle() const noexcept override;
  void call(core::SharedExecutor& borrower, int threads) noexcept override;

 private:
  /// Threads that a worker has called and that are not there yet.
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
  /// Scores wait and nobody sees to them.
  bool scores_want_a_worker() const { return scores_ > 0 && scoring_ == 0; }

  const std::size_t most_workers_;
  const bool lends_;
  const std::function<bool()> start_worker_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<Client::State*> clients_;
  std::size_t turn_ = 0;
  std::size_t translations_ = 0;  ///< that wait
  std::size_t scores_ = 0;        ///< that wait
  std::size_t free_ = 0;          ///< workers
  int scoring_ = 0;               ///< workers that score
  std::vector<Call> calls_;       ///< one of each borrower at most
  int called_ = 0;                ///< threads, by all of them
  int helping_ = 0;               ///< workers, which are free ones
  bool can_start_ = true;
  // What is looked at without the lock, under which it changes:
  std::atomic<std::size_t> waiting_ = 0;  ///< translations and scores
  std::atomic<std::size_t> busy_ = 0;     ///< workers that are not free
  std::atomic<bool> closed_ = false;
};

}  // namespace dragoman::engine

/// Of one client; but for `cancelled`, the queue's lock guards it.
struct dragoman::engine::Client::State {
  SentenceQueue<std::unique_ptr<Job>> translations;
  SentenceQueue<std::unique_ptr<Job>> scores;
  std::size_t jobs = 0;  ///< under way
  std::size_t bytes = 0;
  std::exception_ptr thrown;
  std::condition_variable changed;
  std::atomic<bool> cancelled = false;
};
