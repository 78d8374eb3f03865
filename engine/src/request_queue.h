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

enum class Work : std::uint8_t { kTranslations, kScores, kEnd };

/// A worker, as the queue knows it. A new one counts as free.
struct Seat {
  std::size_t jobs = 0;
  bool free = true;  ///< has nothing to do, or has called its last callback
};

/// What clients have asked for and no worker has taken yet, and who takes what: clients take turns; translations and
/// scores, which go through steps of different kinds, get their workers; a worker that has sentences in flight leaves
/// the last ones to workers that have none. Thread-safe. What workers call asks for no memory, and a job is always in
/// somebody's hands: so none is lost where there is no memory.
class RequestQueue {
 public:
  // --- clients ---

  void add(Client::State& client);
  void remove(Client::State& client);
  /// Waits for room. `start_worker` is called, under the lock, before a job enters that no worker is free for; whether
  /// it has started one.
  void submit(std::unique_ptr<Job> job, std::size_t most_bytes, const std::function<bool()>& start_worker);
  void cancel(Client::State& client) noexcept;
  void wait(Client::State& client);

  // --- workers ---

  /// Waits for work of any kind; which kind the worker is to do. kEnd when the queue was closed.
  Work wait_for_work(Seat& seat) noexcept;
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

 private:
  using Jobs = SentenceQueue<std::unique_ptr<Job>>;

  std::unique_ptr<Job> take(Seat& seat, Jobs& queue) noexcept;
  void set_free(Seat& seat, bool free) noexcept;
  Client::State* next_client(Jobs Client::State::*queue) noexcept;
  /// Scores wait and nobody sees to them.
  bool scores_want_a_worker() const { return scores_ > 0 && scoring_ == 0; }

  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<Client::State*> clients_;
  std::size_t turn_ = 0;
  std::size_t translations_ = 0;  ///< that wait
  std::size_t scores_ = 0;        ///< that wait
  std::size_t free_ = 0;          ///< workers
  int scoring_ = 0;               ///< workers that score
  bool closed_ = false;
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
